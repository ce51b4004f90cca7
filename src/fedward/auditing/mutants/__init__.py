"""Parts that break a promise on purpose, each wrapped around a sound one: an audit must catch them."""
