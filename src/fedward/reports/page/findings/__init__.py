"""What the page says first: findings in two sentences, cards, and runs side by side."""
