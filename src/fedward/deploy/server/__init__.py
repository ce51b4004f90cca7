"""The side of the model: who is declared, who is there, a backend whose jobs run at nodes, one study."""
