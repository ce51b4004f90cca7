"""Test examples as people see them: pictures or text, before and after an attack."""
