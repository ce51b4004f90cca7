"""Reports for people: an HTML page, pictures, and tables on the terminal."""
