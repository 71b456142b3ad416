"""Studies: the best policy and parameters of each world, by a grid of simulations.

How the data flows: A `study` (or its file) has axes.  They are put into the
template of a scenario and into the names of policies, which makes the `grid`: worlds,
and settings that compete in each of them. `conduct` plays the settings stage by stage,
and keeps the sums in a folder.  The `study_result` names the best
setting of each world, and those that are indistinguishable from it.  `study_report`
makes the page.

Used from outside: `study`, `Study`, `StudyResult`.

The folder is not called `study` because that is the name of the public function.
"""
