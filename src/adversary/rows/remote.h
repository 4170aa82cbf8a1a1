/*
 * remote.h: linear steps of rows.h made by the device of an engine (base/device.h): all rows of a model that
 * is large enough, where the device makes steps of this kind. Answers stay there; what comes back is the
 * budget, and the kernel.
 */
#ifndef NADIR_ADVERSARY_ROWS_REMOTE_H
#define NADIR_ADVERSARY_ROWS_REMOTE_H

#include "adversary/rows/lmo.h"
#include "base/device.h"

/* step NULL: there is none. */
typedef struct nadir_lmo_device {
    const struct nadir_device *device;
    void *step;
    nadir_model *model;
    double p;
    bool spread; /* states that a row does not have get something, too: sparse models, domain simplex */
} nadir_lmo_device;

/* Of weights gamma max(d(s), 0) pi(row); probabilities: [rows]. Where the device has no room for it, or does
 * not make such steps, there is none. */
nadir_status nadir_lmo_device_open(nadir_context *context, const nadir_lmo *rows, nadir_device_shares shares,
                                   double gamma, const double *probabilities, nadir_lmo_device *remote);
void nadir_lmo_device_close(nadir_lmo_device *remote);

/* Of the order nothing but x is looked at. d: [states], NULL: weights are one where pi is positive, and pi
 * itself where the rows of a state share. *found: false where the ball does not matter or nothing moves:
 * nadir_lmo_solve_all tells. Where not all rows share it is false only if nothing moves, and the budget says
 * nothing. */
nadir_status nadir_lmo_device_solve(nadir_context *context, const nadir_lmo_device *remote,
                                    const nadir_value_order *order, const double *d, double beta,
                                    nadir_lmo_budget *budget, bool *found);

/* p = infinity, or where not all rows share: gains(s) <- sum over a of pi(a|s) (Phat_sa - X_sa) . v of the
 * last answer; [states]. */
nadir_status nadir_lmo_device_gains(nadir_context *context, const nadir_lmo_device *remote,
                                    const nadir_value_order *order, double *gains);

/* The kernel of the last answer, as nadir_lmo_kernel makes it, but on the device alone, where it is
 * averaged: nadir_kernel_device_fetch brings it here. */
nadir_status nadir_lmo_device_kernel(nadir_context *context, const nadir_lmo_device *remote,
                                     nadir_kernel **kernel);

/* p = 2: sum over rows of P . g - min g, g = w v + 2 tau Delta / alpha^2, at the last answer's weights.
 * *done: false where the kernel P is not on the device. */
nadir_status nadir_lmo_device_slack(nadir_context *context, const nadir_lmo_device *remote,
                                    const nadir_kernel *kernel, double range, double tau, double *slack,
                                    bool *done);

/* Sparse models, domain support: sums <- sum over rows of (gamma y(s) alpha pi)^2 (z centred in the row);
 * [states] each. */
nadir_status nadir_lmo_device_centred(nadir_context *context, const nadir_lmo_device *remote, const double *y,
                                      const double *z, double *sums);

#endif
