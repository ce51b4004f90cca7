"""A federation of real parties: the round of a simulation, with users where their data is.

wire/      what server and nodes say to each other: named fields and arrays, checked before they are read
node/      the side of the data: its rules, its own ledger, its training
server/    the side of the model: who is declared, who is there, a backend whose jobs run at nodes, one study
flower/    Flower, which carries the messages
scaffold/  the files that ``fedward flower new`` writes
"""
