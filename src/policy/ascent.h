/*
 * ascent.h: the robust policy by projected gradients: policies one after another, each the response of the
 * last one's gradient, until no policy can be better by more than the gap that is wanted.
 *
 * In the metric sum over s of d(s)^METRIC |delta_s|^2 the gradient d(s) Q(s, a) of the worst return has steps
 *
 *     pi_s <- Proj(pi_s + alpha d(s)^(1 - METRIC) Q(s, .)),
 *
 * alpha by Barzilai and Borwein ("spectral"), or the step is the best policy of a quadratic model that the
 * last steps have taught (lbfgs.h, "quasi-newton"). METRIC is 2 where rows have all successors. Either is
 * taken whole unless the return falls below the worst of the last few. The paper's Algorithm 3 takes pi_s <-
 * Proj(pi_s + alpha d(s) Q(s, .)) with the alpha given and asks nothing, its n-th kernel being good to
 * gamma^n.
 */
#ifndef NADIR_POLICY_ASCENT_H
#define NADIR_POLICY_ASCENT_H

#include "policy/ascent.h"
#include "policy/checkpoint.h"
#include "policy/minmax.h"

typedef enum nadir_ascent_kind {
    NADIR_ASCENT_QUASI_NEWTON,
    NADIR_ASCENT_SPECTRAL,
    NADIR_ASCENT_PAPER
} nadir_ascent_kind;

/* Chances below this are none. */
#define NADIR_ASCENT_SMALLEST_PROBABILITY 1e-12

/* The first response is found to this share of the penalty: what that policy is worth is told to the user. */
#define NADIR_ASCENT_FIRST_TOLERANCE 1e-6

/* Steps whose returns are remembered. */
enum { NADIR_ASCENT_HISTORY = 8 };

/* Where an ascent stands: all that it takes to go on as if nothing had been. */
typedef struct nadir_ascent_state {
    int64_t iterations;
    int64_t evaluations;
    double alpha;                         /* 0: none yet */
    double tolerance;                     /* of the response to the policy at hand */
    double history[NADIR_ASCENT_HISTORY]; /* in a circle */
    int64_t followed;                     /* 1: that response was found from near_v, near_d */
    double initial;                       /* worst return of the first policy */
    double best;                          /* worst return of the best policy */
    double best_nominal;                  /* nominal return of it */
    double asked;                         /* the ceiling is not asked before the advantage is this small */
    double least;                         /* smallest advantage so far */
    double risen;                         /* return when it was last seen to rise */
    int64_t idle;                         /* steps since either has changed */
    double offered;                       /* advantage of the first policy */
    int64_t inexact_steps;                /* 1: responses are looked at in passing, see ascent.c */
} nadir_ascent_state;

/* A struct of zeros with the first five set is ready to begin. */
typedef struct nadir_ascent {
    nadir_context *context;
    nadir_minmax minmax;
    const nadir_robust_optimum_settings *settings;
    nadir_ascent_kind kind;
    double nominal_optimum;
    char identity[65]; /* of model, ball and method: what a checkpoint is good for */
    nadir_checkpoint_store store;
    nadir_ascent_state state;
    nadir_dual_bound dual_bound;
    nadir_response *current, *next; /* owned; at the policy at hand, and at the one tried last */
    double *warm_v, *warm_d;        /* [states] */
    nadir_policy *best;             /* retained; NULL: none yet */
    nadir_policy_gradient slope;    /* at the policy at hand */
    double *direction;              /* [rows]; NULL until a step is proposed */
    double *metric;                 /* [states] */
    nadir_lbfgs lbfgs;
    double advantage; /* of the policy at hand */
    double begun;     /* seconds on the clock */
    double saved;     /* when the last checkpoint was written */
    const char *stop_reason;
} nadir_ascent;

/* What the gap is measured by. */
double nadir_ascent_scale(const nadir_ascent *ascent);

/* From the policy `start`, which is retained, or from the checkpoint of the store, to the end,
 * which stop_reason tells; `best` is the policy then. An interruption is NADIR_ERROR_INTERRUPTED, with the
 * best policy so far if there is one. */
nadir_status nadir_ascent_run(nadir_ascent *ascent, nadir_policy *start);

/* Goes on from the best policy, whose worst kernel is looked for from nothing: another one may be worse. */
nadir_status nadir_ascent_restart(nadir_ascent *ascent);

/* Gives back what nothing but further steps would need; nadir_ascent_restart makes it anew. */
void nadir_ascent_release_work(nadir_ascent *ascent);

void nadir_ascent_clear(nadir_ascent *ascent);

/* Gradient and metric at the policy at hand; a first alpha that fits the curvature, if that is known, or
 * takes the widest choice all the way. */
void nadir_ascent_measure(nadir_ascent *self);

/*
 * Anderson's mixing of a step at a glance, F(pi) = pi + step being what the steps make of a policy: with the
 * policy and the step before, (pi', step'),
 *
 *     step <- step - t (pi - pi' + step - step'),     t making |step - t (step - step')| least in the metric.
 *
 * Both are kept as pairs of the secants, which glances have no other use for: so a step that was proposed and
 * interrupted is proposed again as it was.
 */
nadir_status nadir_ascent_anderson(nadir_ascent *self);

/* Barzilai and Borwein, and a pair for the model, from the step just taken to `there`. */
nadir_status nadir_ascent_update_model(nadir_ascent *self);

/* The response to the policy t of the way along the direction, in `there`. */
nadir_status nadir_ascent_try_step(nadir_ascent *self, double t);
/* In place of *policy the best policy of the ascent, without chances that are rounding. */
nadir_status nadir_ascent_take_best(const nadir_ascent *ascent, nadir_policy **policy);

/* Writes a checkpoint to the store, if there is one and it is time for one or must be `now`. */
nadir_status nadir_ascent_save(nadir_ascent *ascent, bool now);

/* The response to the first policy. */
nadir_status nadir_ascent_respond(nadir_ascent *self, nadir_policy *start, nadir_response *response);

/* The state of the checkpoint that the store reads, and the response to its policy as it was. */
nadir_status nadir_ascent_resume(nadir_ascent *self, nadir_policy *start);

#endif
