"""Checks of an algorithm that an adapter declares itself, by what it releases and what protects it.

1. `ledger` prices a declaration with the accountant; `bench` asks the adapter for runs from the inside.
2. `scenes` makes data sets, neighbours and starting points within the declared domain; `pairs` compares neighbours.
3. `noise`, `sampling`, `objective` look at the draws and at what is minimised; `runner` runs all of them.

Nothing here compares with an algorithm that this project implements.
"""
