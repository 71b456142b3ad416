"""Names for array types, so that signatures can be read."""

from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
RecordArray = Any  # an array of records with named fields, which type checkers do not know
Record = Any  # one of them, by reference
# Arrays as lazy kernels take them: the dimensions belong to the signature.
Vector = Annotated[FloatArray, 1]
IntVector = Annotated[IntArray, 1]
Matrix = Annotated[FloatArray, 2]
