/*
 * kernel_file.h: kernels of a ball in files: NumPy archives with the kernel and what the ball was.
 *
 *     b (rows), k (S)                  a kernel Phat - b k^T, or
 *     P_data, P_indices, P_indptr      all its rows, in CSR form as models have it, with P_shape (rows, S)
 *                                      and, where actions are ragged, row_state and row_action
 *     radius, norm, set, domain        the ball; norm may be infinite
 *     scales, optimistic               scales (rows) where they are not all one; 0 or 1
 *     gamma                            the discount
 *     model_sha256, policy_sha256      64 digits each: for which model and policy it was found
 *     model_file_sha256,
 *     policy_file_sha256               and of the files that these were read from
 *
 * Only the kernel is needed; what else is not there is unsaid. What is written stores the
 * digest of all its other bytes (base/file_digest.h) as the comment of the archive.
 */
#ifndef NADIR_KERNEL_KERNEL_FILE_H
#define NADIR_KERNEL_KERNEL_FILE_H

#include "kernel/kernel.h"

/* A struct of zeros with norm and gamma NaN says nothing. */
typedef struct nadir_kernel_parameters {
    nadir_set set;
    nadir_domain domain;
    double norm;           /* NaN: unsaid */
    const double *radius;  /* [radius_count], or those of this process; NULL: unsaid */
    int64_t radius_count;  /* 0, 1, states or rows, of all processes */
    const double *scales;  /* [rows]; NULL: unsaid */
    double gamma;          /* NaN: unsaid */
    bool optimistic;       /* the best case, not the worst */
    char model_sha256[65]; /* "": unsaid */
    char policy_sha256[65];
    char model_file_sha256[65]; /* of the bytes of the files that they were read from; "": unsaid */
    char policy_file_sha256[65];
    double *owned; /* radius and scales, of nadir_kernel_file_read */
} nadir_kernel_parameters;

void nadir_kernel_parameters_clear(nadir_context *context, nadir_kernel_parameters *parameters);

/* Rows that are not stored as they are get made one at a time while the file is written. */
nadir_status nadir_kernel_file_write(nadir_context *context, const nadir_kernel *kernel,
                                     const nadir_kernel_parameters *parameters, const char *path);

/* Nothing in the file is believed: NADIR_ERROR_FORMAT unless it fits the model and all numbers are finite and
 * in their ranges. What it is worth as a kernel (sums, signs, the ball) and whether its digests are those of
 * the model and the policy at hand is not looked at. parameters need not be initialised, and are to be
 * cleared after success. */
nadir_status nadir_kernel_file_read(nadir_context *context, nadir_model *model, const char *path,
                                    nadir_kernel **kernel, nadir_kernel_parameters *parameters);

#endif
