"""Charts and tables of the page: lines over a scale as SVG, each with its numbers as a table."""
