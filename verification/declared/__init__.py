"""Questions about an algorithm that an adapter declares itself, by what it releases and what protects it.

1. `price` prices a declaration with the accountant; `implementation` asks the adapter for runs from the inside.
2. `comparison` compares neighbours; `two_scales` says what a noise scale that depends on a record gives away.
3. `draws` and `inside` look at noise, batches and what is minimised; `questions` puts all of it to the judge.

Nothing here compares with an algorithm that this project implements.
"""
