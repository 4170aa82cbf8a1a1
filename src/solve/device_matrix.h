/* device_matrix.h: what the two backends of a device (core/device.h) share. */
#ifndef NADIR_SOLVE_DEVICE_MATRIX_H
#define NADIR_SOLVE_DEVICE_MATRIX_H

#include "model/average.h"

/* M on the device: the average's own, or a copy of an average that was made here. */
typedef struct nadir_device_matrix {
    const nadir_device *device;
    void *matrix;
    bool owned;
    nadir_device_facts facts;
} nadir_device_matrix;

/* NADIR_ERROR_UNSUPPORTED without a device. backend: its name. */
nadir_status nadir_device_matrix_make(nadir_context *context, const char *backend,
                                      const nadir_average *average, nadir_device_matrix *made);
void nadir_device_matrix_clear(nadir_device_matrix *made);

#endif
