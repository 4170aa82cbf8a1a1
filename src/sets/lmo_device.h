/*
 * lmo_device.h: the linear minimisation oracle on the device of an engine (core/device.h), for all rows of a
 * model that is large enough, where the device has an oracle of this kind. Solutions stay on the device; the
 * budget and the kernel come back.
 */
#ifndef NADIR_SETS_LMO_DEVICE_H
#define NADIR_SETS_LMO_DEVICE_H

#include "core/device.h"
#include "sets/lmo.h"

/* step NULL: the device has no such oracle. */
typedef struct nadir_lmo_device {
    const struct nadir_device *device;
    void *step;
    nadir_model *model;
    double p;
    bool off_support; /* rows may reach other states than their nominal successors: sparse, domain simplex */
} nadir_lmo_device;

/* For weights gamma max(d(s), 0) pi(row); probabilities: [rows]. remote->step stays NULL where the device
 * lacks memory, or does not solve such problems. */
nadir_status nadir_lmo_device_open(nadir_context *context, const nadir_lmo *lmo, nadir_device_budget shares,
                                   double gamma, const double *probabilities, nadir_lmo_device *remote);
void nadir_lmo_device_close(nadir_lmo_device *remote);

/* Only x of the order is read. d: [states], NULL: weights are one where pi is positive, and pi itself where
 * the rows of a state share. *found: false where the constraint is inactive or nothing moves: use
 * nadir_lmo_solve_all. Where not all rows share it is false only if nothing moves, and the budget is
 * undefined. */
nadir_status nadir_lmo_device_solve(nadir_context *context, const nadir_lmo_device *remote,
                                    const nadir_value_order *order, const double *d, double beta,
                                    nadir_lmo_budget *budget, bool *found);

/* p = infinity, or where not all rows share: gains(s) <- sum over a of pi(a|s) (Phat_sa - X_sa) . v of the
 * last solution; [states]. */
nadir_status nadir_lmo_device_gains(nadir_context *context, const nadir_lmo_device *remote,
                                    const nadir_value_order *order, double *gains);

/* The kernel of the last solution, as nadir_lmo_kernel makes it, but on the device, where it is averaged;
 * nadir_kernel_device_fetch copies it to the host. */
nadir_status nadir_lmo_device_kernel(nadir_context *context, const nadir_lmo_device *remote,
                                     nadir_kernel **kernel);

/* p = 2: sum over rows of P . g - min g, g = w v + 2 tau Delta / alpha^2, at the last solution's weights.
 * *done: false where the kernel P is not on the device. */
nadir_status nadir_lmo_device_slack(nadir_context *context, const nadir_lmo_device *remote,
                                    const nadir_kernel *kernel, double range, double tau, double *slack,
                                    bool *done);

/* Sparse models, domain support: sums <- sum over rows of (gamma y(s) alpha pi)^2 (z centred in the row);
 * [states] each. */
nadir_status nadir_lmo_device_centred(nadir_context *context, const nadir_lmo_device *remote, const double *y,
                                      const double *z, double *sums);

#endif
