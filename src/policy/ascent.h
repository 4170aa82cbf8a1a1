/*
 * ascent.h: the robust policy by projected-gradient ascent on the worst return, until no policy can be better
 * by more than the wanted gap.
 *
 * In the metric sum over s of d(s)^METRIC |delta_s|^2 the gradient d(s) Q(s, a) of the worst return gives
 * steps
 *
 *     pi_s <- Proj(pi_s + alpha d(s)^(1 - METRIC) Q(s, .)),
 *
 * with alpha by Barzilai and Borwein ("spectral"), or the step maximises an L-BFGS model of the worst return
 * ("quasi-newton"). Either step is taken whole unless the return falls below the lowest of the last few. The
 * paper's Algorithm 3 ("paper") steps pi_s <- Proj(pi_s + alpha d(s) Q(s, .)) with a given alpha and no line
 * search; its n-th kernel is exact to gamma^n.
 */
#ifndef NADIR_POLICY_ASCENT_H
#define NADIR_POLICY_ASCENT_H

#include "policy/checkpoint.h"
#include "policy/minmax.h"

/* ------------------------------------------------------------------------------------------- L-BFGS */

/*
 * A quadratic model of the worst return from the last steps,
 *
 *     J(pi + delta) ~ J + g . delta - delta . B delta / 2,
 *
 * B by the BFGS formula from pairs s = step, y = decrease of the gradient, starting from a diagonal. The step
 * maximises the model over all policies: it takes products with the pairs and projections, and no evaluation.
 * A struct of zeros holds nothing.
 */
typedef struct nadir_lbfgs {
    const nadir_model *model;
    int64_t rows;
    int most;                      /* pairs that are kept; 0: the diagonal alone */
    int count;                     /* pairs now, oldest first */
    double *s[NADIR_LBFGS_PAIRS];  /* [rows] each, owned; NULL: not needed yet */
    double *y[NADIR_LBFGS_PAIRS];  /* the same */
    double *b[NADIR_LBFGS_PAIRS];  /* B s, with B of the pairs before */
    double s_y[NADIR_LBFGS_PAIRS]; /* s . y > 0 */
    double s_b[NADIR_LBFGS_PAIRS]; /* s . b > 0 */
    const double *metric;          /* [states] the diagonal is metric[s] / alpha; not owned */
    double alpha;
    double *work[3];    /* [rows] each; NULL before the first pair */
    double *projection; /* work, one number for each action of any state */
} nadir_lbfgs;

nadir_status nadir_lbfgs_make(nadir_context *context, const nadir_model *model, int most, nadir_lbfgs *lbfgs);
void nadir_lbfgs_clear(nadir_context *context, nadir_lbfgs *lbfgs);
/* Drops all pairs and their memory. */
void nadir_lbfgs_forget(nadir_context *context, nadir_lbfgs *lbfgs);
/* Memory for `pairs` pairs, three vectors of [rows] each; otherwise it is allocated with each pair. */
nadir_status nadir_lbfgs_reserve(nadir_context *context, nadir_lbfgs *lbfgs, int pairs);
/* Adds a pair, dropping the oldest if necessary: the caller fills s[count - 1] and y[count - 1]. most > 0. */
nadir_status nadir_lbfgs_push(nadir_context *context, nadir_lbfgs *lbfgs);
/* Computes B from the pairs and the diagonal metric[s] / alpha. Pairs of too little curvature are damped.
 * metric: [states], positive; not copied. */
void nadir_lbfgs_prepare(const nadir_context *context, nadir_lbfgs *lbfgs, const double *metric,
                         double alpha);
/* The step from pi: [rows] to the policy that maximises the model, by projected gradients. gradient: [rows] of
 * the worst return at pi; overwritten. delta: [rows], out. */
nadir_status nadir_lbfgs_step(nadir_context *context, nadir_lbfgs *lbfgs, const double *pi, double *gradient,
                              double *delta);

/* ------------------------------------------------------------------------------------------- ascent */

typedef enum nadir_ascent_kind {
    NADIR_ASCENT_QUASI_NEWTON,
    NADIR_ASCENT_SPECTRAL,
    NADIR_ASCENT_PAPER
} nadir_ascent_kind;

/* Tolerance of the first response, relative to the penalty: its return is reported to the user. */
#define NADIR_ASCENT_FIRST_TOLERANCE 1e-6

/* Returns that the line search compares with. */
enum { NADIR_ASCENT_HISTORY = 8 };

/* All numbers, besides the arrays of nadir_ascent, that it takes to resume. Checkpoints hold the struct. */
typedef struct nadir_ascent_state {
    int64_t iterations;
    int64_t evaluations;
    double alpha;                         /* 0: none yet */
    double tolerance;                     /* of the current response; infinity: inexact */
    double history[NADIR_ASCENT_HISTORY]; /* returns, a ring buffer */
    int64_t warm_started;                 /* 1: the current response was found from warm_v, warm_d */
    double initial;                       /* worst return of the first policy */
    double best;                          /* worst return of the best policy */
    double best_nominal;                  /* its nominal return */
    double dual_advantage;                /* the dual bound is tried once the advantage is this small */
    double least;                         /* smallest advantage so far */
    double risen;                         /* return when it last rose */
    int64_t idle;                         /* steps since `least` or `risen` changed */
    double first_advantage;               /* of the first policy */
    int64_t inexact_steps;                /* 1: responses are inexact */
} nadir_ascent_state;

/* Start: zeros with the first four set. */
typedef struct nadir_ascent {
    nadir_context *context;
    nadir_minmax minmax;
    nadir_ascent_kind kind;
    nadir_search search;
    nadir_ascent_state state;
    nadir_dual_bound dual_bound;
    nadir_response *current, *next; /* owned: of the current policy, and of the last one tried */
    double *warm_v, *warm_d;        /* [states] */
    nadir_policy *best;             /* retained; NULL: none yet */
    double *gradient, *direction;   /* [rows]; NULL before the first step */
    double *metric;                 /* [states] */
    nadir_lbfgs lbfgs;
    double advantage; /* of the current policy */
    nadir_stop stop;
} nadir_ascent;

/* Runs from the policy `start` (retained), or from the store's checkpoint, to the end: stop_reason says why
 * it stopped, `best` is the policy. NADIR_ERROR_INTERRUPTED: `best` is the best policy so far, or NULL. */
nadir_status nadir_ascent_run(nadir_ascent *ascent, nadir_policy *start);

/* Continues from the best policy, with a cold search for its worst kernel: another kernel may be worse. */
nadir_status nadir_ascent_restart(nadir_ascent *ascent);

/* Frees what only further steps need; nadir_ascent_restart allocates it again. */
void nadir_ascent_release_work(nadir_ascent *ascent);

void nadir_ascent_clear(nadir_ascent *ascent);

/* Gradient and metric at the current policy; a first alpha, from the curvature if that is known, or else the
 * one that moves the state with the widest gradient from one action to another. */
void nadir_ascent_measure(nadir_ascent *self);

/* Barzilai-Borwein alpha and an L-BFGS pair from the step to `next`. */
nadir_status nadir_ascent_update_model(nadir_ascent *self);

/* next <- the response to the policy `t` times the direction away. */
nadir_status nadir_ascent_try_step(nadir_ascent *self, double t);

/* Of the current state. */
nadir_checkpoint nadir_ascent_checkpoint(nadir_ascent *ascent);

/* The cold response to the first policy. If that breaks down (free domain) and the user named no policy, the
 * response to the uniform policy, which often does not. */
nadir_status nadir_ascent_respond(nadir_ascent *self, nadir_policy *start, nadir_response *response);

/* Reads the checkpoint, and finds the response to its policy again. */
nadir_status nadir_ascent_resume(nadir_ascent *self, nadir_policy *start);

#endif
