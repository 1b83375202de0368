"""relu_nan.py write FILE: two images, the second with one element that is not a number. relu_nan.py count FILE: of each output, how
many elements of each image are not numbers."""
import math
import sys

import tensor_file

if sys.argv[1] == "write":
    image = [(i % 7 - 3) / 4 for i in range(96)]
    image[48 + 21] = math.nan  # channel 1, row 1, column 1
    tensor_file.save(sys.argv[2], {"x": ([2, 3, 4, 4], image)})
else:
    for name, values in sorted(tensor_file.load(sys.argv[2]).items()):
        half = len(values) // 2
        print(name, *(sum(map(math.isnan, part)) for part in (values[:half], values[half:])))
