/* device_matrix.c: the matrix of an average on a device; see device.h. */
#include "solve/device_matrix.h"

nadir_status nadir_device_matrix_make(nadir_context *context, const char *backend,
                                      const nadir_average *average, nadir_device_matrix *made)
{
    const nadir_matrix *matrix = &average->matrix;
    *made = (nadir_device_matrix){.device = context->device};
    if (context->device == NULL) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "the backend %s is part of an engine with a device (--engine cuda)", backend);
    }
    if (average->device_matrix != NULL) {
        made->matrix = average->device_matrix;
        made->facts = average->facts;
        return NADIR_OK;
    }
    const nadir_device_rows rows = {
        .states = matrix->size,
        .rows = matrix->size,
        .dense = matrix->dense,
        .starts = matrix->starts,
        .columns = matrix->columns,
        .values = matrix->values,
    };
    made->owned = true;
    return context->device->matrix_upload(context->device_self, context, &rows, &made->matrix, &made->facts);
}

void nadir_device_matrix_clear(nadir_device_matrix *made)
{
    if (made->owned && made->matrix != NULL) {
        made->device->matrix_free(made->matrix);
    }
    *made = (nadir_device_matrix){0};
}
