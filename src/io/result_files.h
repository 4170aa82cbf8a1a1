/*
 * result_files.h: the files of an evaluation: its worst kernel, and the witness of its bounds.
 *
 * A kernel is a NumPy archive with the kernel and what the ball was:
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
 * Only the kernel is needed; what else is not there is unsaid. What is written stores
 * the digest of its other bytes (core/file.h) as the comment of the archive. A witness is a JSON object
 * (witness_file.c), which stores its digest too.
 */
#ifndef NADIR_IO_RESULT_FILES_H
#define NADIR_IO_RESULT_FILES_H

#include "core/file.h"
#include "model/kernel.h"
#include "proof/certificate.h"

/* Rows that are not stored as they are get made one at a time while the file is written. */
nadir_status nadir_kernel_file_write(nadir_context *context, const nadir_kernel *kernel,
                                     const nadir_kernel_parameters *parameters, const char *path);

/* NADIR_ERROR_FORMAT unless the file fits the model and all numbers are finite and in their ranges. Sums
 * and signs of the kernel, its place in the ball, and the digests of model and policy are not checked here.
 * parameters need not be initialised; clear them after success. */
nadir_status nadir_kernel_file_read(nadir_context *context, nadir_model *model, const char *path,
                                    nadir_kernel **kernel, nadir_kernel_parameters *parameters);

/* How a witness file ends: the digest of all its other bytes. */
extern const nadir_file_digest_form nadir_witness_digest_form;

/* NADIR_ERROR_ARGUMENT when a vector is not finite or the ball or a digest is not one. */
nadir_status nadir_witness_write(nadir_context *context, const nadir_model *model,
                                 const nadir_witness *witness, const char *path);

/* NADIR_ERROR_FORMAT names the member whose type, length or number is wrong. The digests of model and
 * policy are not checked here. Unknown members are ignored with a notice. witness need not be initialised;
 * clear it after success. */
nadir_status nadir_witness_read(nadir_context *context, const nadir_model *model, const char *path,
                                nadir_witness *witness);

#endif
