"""What trains and measures: the generic path, the Gram form, the native engine."""
