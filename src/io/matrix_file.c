/* matrix_file.c: a matrix of numbers from a .npy file. */
#include "io/numpy/npy.h"

#include <math.h>

static nadir_status check(nadir_context *context, const char *path, const nadir_array *array)
{
    if (array->dimensions != 2 || array->count == 0) {
        char shape[NADIR_NPY_SHAPE_LENGTH];
        return nadir_fail(context, NADIR_ERROR_FORMAT,
                          "%s: the array has shape %s; expected a matrix, (rows, columns)", path,
                          nadir_npy_shape_text(array->dimensions, array->shape, shape));
    }
    for (int64_t i = 0; i < array->count; i++) {
        if (!isfinite(array->values[i])) {
            return nadir_fail(
                context, NADIR_ERROR_FORMAT, "%s: row %lld, column %lld is %g; expected finite numbers", path,
                (long long)(i / array->shape[1]), (long long)(i % array->shape[1]), array->values[i]);
        }
    }
    return NADIR_OK;
}

nadir_status nadir_numbers_read_matrix(nadir_context *context, const char *path, double **matrix,
                                       int64_t *rows, int64_t *columns)
{
    nadir_status status = NADIR_OK;
    nadir_array array = {0};
    bool npy;
    NADIR_CHECK(nadir_npy_recognises(context, path, &npy));
    if (!npy) {
        status = nadir_fail(context, NADIR_ERROR_FORMAT,
                            "%s: this is no NumPy array; expected a .npy file of two dimensions", path);
        goto cleanup;
    }
    NADIR_CHECK(nadir_npy_read(context, path, &array));
    NADIR_CHECK(check(context, path, &array));
    *matrix = array.values;
    *rows = array.shape[0];
    *columns = array.shape[1];
    array.values = NULL;
cleanup:
    nadir_release(context, array.values);
    return status;
}
