/*
 * lmo_device.h: linear steps of a model on a device, and the same ones on the host, for unit tests. Include
 * support/support.h first.
 */
#ifndef NADIR_TESTS_LMO_DEVICE_H
#define NADIR_TESTS_LMO_DEVICE_H

#include "core/random.h"
#include "sets/lmo.h"

typedef struct test_lmo_device {
    nadir_context *context;
    nadir_random random;
    nadir_model *model;
    nadir_policy *policy; /* uniform */
    nadir_value_order order;
    nadir_lmo rows;
    nadir_lmo_device device; /* step NULL: there is none */
    int64_t states, count;   /* count: of rows */
    double *scales;          /* [count] to be set by the test */
    double *weights;         /* [count] */
    double *d, *v, *z;       /* [states] to be set by the test; z: further values */
} test_lmo_device;

/* Takes context and model. The random numbers go on from where they are. */
test_lmo_device test_lmo_device_make(nadir_context *context, const nadir_random *random, nadir_model *model);
void test_lmo_device_clear(test_lmo_device *made);

/* One row in eleven is pinned. */
void test_lmo_device_draw_scales(test_lmo_device *made);
/* Weights by d, order by v. */
void test_lmo_device_weigh(test_lmo_device *made);
void test_lmo_device_sort(test_lmo_device *made);

/* Opens the step of all rows. */
void test_lmo_device_open(test_lmo_device *made, nadir_domain domain, double p);
/* Skips the test if the context has no device; otherwise the step must be open. */
void test_lmo_device_need(test_lmo_device *made);

/* The average of a kernel that the device has made, against that of the same one on the host. */
void test_lmo_device_compare_averages(const test_lmo_device *made, const nadir_kernel *here,
                                      const nadir_kernel *there, double tolerance);
/* p = infinity, rows of weight one: what states gain. */
void test_lmo_device_compare_gains(test_lmo_device *made, nadir_lmo_device *device, double radius,
                                   double tolerance);
/* No step of the norm is found in a ball in which every row can be settled, nor where all values are the
 * same. */
void test_lmo_device_finds_nothing(test_lmo_device *made);

#endif
