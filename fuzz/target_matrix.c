/*
 * target_matrix.c: NumPy arrays of two dimensions.
 */
#include "fuzz.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    nadir_context *context = fuzz_context();
    double *matrix = NULL;
    int64_t rows = 0;
    int64_t columns = 0;
    const char *path = fuzz_file(".npy", bytes, size);
    if (nadir_numbers_read_matrix(context, path, &matrix, &rows, &columns) == NADIR_OK) {
        double sum = 0;
        for (int64_t i = 0; i < rows * columns; i++) {
            sum += fabs(matrix[i]);
        }
        fuzz_require(!(sum < 0), "all numbers can be read");
        nadir_numbers_free(context, matrix);
    }
    nadir_context_free(context);
    return 0;
}
