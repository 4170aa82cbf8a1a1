/* fit.h: the internals of a fit: data, evidence of each row, checked settings, row scales. */
#ifndef NADIR_FIT_FIT_H
#define NADIR_FIT_FIT_H

#include "fit/evidence.h"

/* ---- Row scales -------------------------------------------------------------------------------------- */

/*
 * How much each row may move: the row scales alpha of a ball.
 *
 * A ball of radius beta(alpha), a quantile of (sum of (|dP_sa|_p / alpha_sa)^p)^(1/p), costs a policy about
 * gamma beta(alpha) |alpha x|_q at first order, x_sa = d(s) pi(a|s) sigma_sa(v) the return lost for each unit
 * that the row moves. With dev_sa^p = E|dP_sa|_p^p the mean of beta^p is the sum of (dev/alpha)^p, and by
 * Hölder |dev/alpha|_p |alpha x|_q >= sum of dev x, with equality where (dev/alpha)^p ~ (alpha x)^q, that is
 *
 *     alpha = dev^(1/q) x^(-1/p)          (p = 2: the fourth root of the variance over the root of x).
 *
 * "deviation" takes x = 1, "occupancy" d(s) pi(a|s), "sensitivity" all of it; "ones" is alpha = 1.
 */

/* The order in which they are tried. */
typedef enum nadir_scales_choice {
    NADIR_SCALES_ONES,
    NADIR_SCALES_DEVIATION,
    NADIR_SCALES_OCCUPANCY,
    NADIR_SCALES_SENSITIVITY,
    NADIR_SCALES_COUNT
} nadir_scales_choice;

/* dev of every row: [rows]; 0 where the row is known. Exact for norm 2; for others that of normal entries of
 * the same variances: it decides how good a ball is, not whether it holds. */
void nadir_scales_deviation(const nadir_evidence *evidence, double norm, double *deviation);

/* alpha: [rows], of mean 1 over the rows that are not known, 0 for the others. x: [rows], 0 or more; NULL: 1
 * everywhere. */
void nadir_scales_make(const nadir_evidence *evidence, double norm, const double *deviation, const double *x,
                       double *alpha);

/* x of every row, [rows], under the policy of a solver: its occupancy d(s) pi(a|s), times, if `spread`,
 * sigma_q of the value over the successors that were seen. */
nadir_status nadir_scales_exposure(nadir_context *context, const nadir_evidence *evidence,
                                   nadir_solver *solver, const nadir_policy *policy, double norm, bool spread,
                                   double *x);

/* ---- A fit ------------------------------------------------------------------------------------------- */

typedef enum nadir_fit_method { NADIR_FIT_POSTERIOR, NADIR_FIT_BOOTSTRAP, NADIR_FIT_FREE } nadir_fit_method;

typedef enum nadir_fit_promise {
    NADIR_PROMISE_RETURN,
    NADIR_PROMISE_KERNEL,
    NADIR_PROMISE_POSTERIOR
} nadir_fit_promise;

/* The settings, checked. */
typedef struct nadir_fit_options {
    nadir_fit_method method;
    double confidence;
    double prior, concentration;
    nadir_unvisited unvisited;
    nadir_domain domain;
    int scales; /* nadir_scales_choice; NADIR_SCALES_COUNT: auto */
    double norm;
    nadir_set set;
    int64_t samples; /* 0: as many as are worth their time */
    int guarantee;   /* nadir_fit_promise */
} nadir_fit_options;

struct nadir_fit {
    nadir_memory *memory;
    nadir_data data;
    nadir_data listed; /* the successors that are allowed; empty: not listed */
    nadir_evidence evidence;
    nadir_fit_options options;
    nadir_model *nominal;
};

/* Checks the settings, already of this version. data_kind: what the data are. */
nadir_status nadir_fit_check_settings(nadir_context *context, const nadir_fit_settings *settings,
                                      nadir_data_kind data_kind, nadir_fit_options *options);
/* Whether the successors are named in a file. */
bool nadir_fit_names_file(const nadir_fit_settings *settings);
const char *nadir_fit_method_name(nadir_fit_method method);
const char *nadir_scales_name(int choice);

/* Of data, and of transitions that are allowed (empty: all, or those seen), laid out as the data are. Both
 * are taken over, and empty afterwards, whatever the status. The settings are of this version; the files
 * that they name are not looked at. */
nadir_status nadir_fit_create(nadir_context *context, nadir_data *data, nadir_data *listed,
                              const nadir_fit_settings *settings, nadir_fit **fit);

/* fit->nominal, of the evidence and the data. */
nadir_status nadir_fit_make_nominal(nadir_context *context, nadir_fit *fit,
                                    const nadir_fit_settings *settings);

/* A model with the names of states and actions that the data have. */
nadir_status nadir_fit_named_model(nadir_context *context, const nadir_fit *fit, const nadir_model_data *data,
                                   nadir_model **model);

/* As nadir_fit_model, with a model for each of several sets. */
nadir_status nadir_fit_models(nadir_context *context, nadir_fit *fit, const nadir_policy *policy,
                              nadir_fit_result *result, int count, const nadir_set *sets,
                              nadir_model **models);

#endif
