/*
 * returns.h: the returns of many policies of one model: what the ways to find them share.
 *
 * Each is J = mu . v, v about D R^pi from one solve; the pass R^pi + gamma P^pi v - v over the rows of the
 * kernel bounds its error, whoever solved (value_check.h).
 */
#ifndef NADIR_SOLVE_RETURNS_H
#define NADIR_SOLVE_RETURNS_H

#include "solve/occupancy.h"
#include "solve/value.h"

/* What is asked, the same for all threads. */
typedef struct nadir_returns_request {
    nadir_model *model;
    nadir_kernel *kernel; /* nominal */
    const nadir_solver_settings *settings;
    nadir_value_terms terms;
    int64_t count;
    const double *probabilities; /* [count * rows] distributions, as given */
    bool exact;                  /* none has to be normalised */
    double *returns;             /* [count] */
    double *errors;              /* [count] or NULL */
} nadir_returns_request;

/* Who evaluates policies one after another: a thread, or the only one. Zeros: nothing is there. */
typedef struct nadir_returns_worker {
    nadir_context context;
    nadir_policy *policy; /* the present one, normalised */
    nadir_occupancy *occupancy;
    double *rewards; /* [states] R^pi */
    double *v;       /* [states] of the last policy, from which iterations start */
    double *work;    /* [states] */
    nadir_status status;
    int64_t failed; /* the policy that it is about, unless that is NADIR_OK */
} nadir_returns_worker;

/* use_device: it uses the device of the context, if there is one, and all threads; otherwise one thread. */
nadir_status nadir_returns_worker_make(nadir_context *context, const nadir_returns_request *self,
                                       bool use_device, nadir_returns_worker *member);
void nadir_returns_worker_clear(nadir_returns_worker *member);

/* Policy i. A failure is kept in the member, its sentence in the member's context. */
nadir_status nadir_returns_evaluate(const nadir_returns_request *self, nadir_returns_worker *member,
                                    int64_t i);
/* Tells `context` of that failure, and returns it. */
nadir_status nadir_returns_fail(nadir_context *context, const nadir_returns_worker *member);

/* Return and error of policy i from what was seen of its value; probabilities: [rows] normalised. Returns the
 * error. */
double nadir_returns_record(const nadir_context *context, const nadir_returns_request *self,
                            const double *probabilities, const nadir_value_residual *seen, int64_t i);

/* to: [rows] <- from, normalised as policies are; they were checked. */
void nadir_returns_normalise(const nadir_model *model, const double *from, double *to);

/* Whether the device of the context evaluates these policies in batches; and that. */
bool nadir_returns_are_on_device(const nadir_context *context, const nadir_returns_request *self);
nadir_status nadir_returns_on_device(nadir_context *context, const nadir_returns_request *self);

/* For nadir_progress. */
#define NADIR_RETURNS_TASK "evaluating policies"

#endif
