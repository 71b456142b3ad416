"""Studies: which policy, with which parameters, in which world?  A grid of simulations, and the best of it.

How the data flows: A `study` (or its file, `study_file`) has axes.  They are put into the `template` of a scenario and
into the names of policies (`expression`), which makes the `grid`: worlds, and settings that compete in each of them.
`conduct` plays the settings stage by stage (`halving`), and keeps the sums in a folder (`study_folder`).  The
`study_result` says which setting is best, and which cannot be told from it (`comparison`).  `report` and `charts` make
the page.

Used from outside: `study`, `Study`, `StudyResult`.

The folder is not called `study` because that is the name of the public function.
"""
