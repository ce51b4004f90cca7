"""Parts of a study that were carried out apart, put together."""
