"""The story of the durable lane in acts: each predicts figures, does the thing, and measures them.

figures    what an act is given and what it hands back
acts       the table of acts, and how they are played
lines      the words
one file an act; worker: the process that an act kills
"""
