/*
 * lbfgs.h: what the last steps have shown of the curvature of the worst return, as a quadratic model of it:
 *
 *     J(pi + delta) ~ J + g . delta - delta . B delta / 2,
 *
 * B by the BFGS formula from pairs s = step, y = fall of the gradient, starting from a diagonal. The step is
 * the maximiser of the model over all policies: it costs products with the pairs and projections, and no
 * evaluation.
 */
#ifndef NADIR_POLICY_LBFGS_H
#define NADIR_POLICY_LBFGS_H

#include "model/model.h"

enum { NADIR_LBFGS_PAIRS = 30 };

/* A struct of zeros holds nothing. */
typedef struct nadir_lbfgs {
    const nadir_model *model;
    int64_t rows;
    int most;                      /* pairs that are kept; 0: the diagonal alone */
    int count;                     /* pairs there are, oldest first */
    double *s[NADIR_LBFGS_PAIRS];  /* [rows] each, owned; NULL: not needed yet */
    double *y[NADIR_LBFGS_PAIRS];  /* the same */
    double *b[NADIR_LBFGS_PAIRS];  /* B s, B being that of the pairs before */
    double s_y[NADIR_LBFGS_PAIRS]; /* s . y > 0 */
    double s_b[NADIR_LBFGS_PAIRS]; /* s . b > 0 */
    const double *metric; /* [states] of the diagonal, metric / alpha in the rows of a state; not owned */
    double alpha;
    double *work[3]; /* [rows] each; NULL as long as there was no pair */
    double *room;    /* as long as the actions of any state */
} nadir_lbfgs;

/* The gradient of the worst return, d(s) (Q(s, a) - v(s)). Plain data. */
typedef struct nadir_policy_gradient {
    const double *d; /* [states] */
    const double *q; /* [rows] */
    const double *v; /* [states]; NULL: zeros */
    double least;    /* d counts as no nearer to 0 than this from above; minus infinity: as it is */
} nadir_policy_gradient;

static inline double nadir_policy_gradient_occupancy(const nadir_policy_gradient *slope, int64_t state)
{
    const double d = slope->d[state];
    return d < -slope->least || d > slope->least ? d : slope->least;
}

static inline double nadir_policy_gradient_entry(const nadir_policy_gradient *slope, int64_t state,
                                                 int64_t row)
{
    return nadir_policy_gradient_occupancy(slope, state) *
           (slope->q[row] - (slope->v != NULL ? slope->v[state] : 0));
}

nadir_status nadir_lbfgs_make(nadir_context *context, const nadir_model *model, int most, nadir_lbfgs *lbfgs);
void nadir_lbfgs_clear(nadir_context *context, nadir_lbfgs *lbfgs);
/* No pairs, nor memory for any. */
void nadir_lbfgs_forget(nadir_context *context, nadir_lbfgs *lbfgs);

/* Memory for so many pairs, which is taken as they come: three vectors as long as a policy each. */
nadir_status nadir_lbfgs_reserve(nadir_context *context, nadir_lbfgs *lbfgs, int pairs);

/* Room for one more pair, the oldest being forgotten if need be: the caller fills s[count - 1], y[count - 1].
 * Not with most = 0. */
nadir_status nadir_lbfgs_push(nadir_context *context, nadir_lbfgs *lbfgs);

/* Makes B anew from the pairs and diagonal(row of s) = metric[s] / alpha; pairs along which the gradient
 * does not fall are bent so that it does. metric: [states], positive; must stay. */
void nadir_lbfgs_prepare(const nadir_context *context, nadir_lbfgs *lbfgs, const double *metric,
                         double alpha);

/* The step from pi: [rows] to the policy that is best for the model with gradient g, by projected gradients.
 * delta: [rows], out. */
nadir_status nadir_lbfgs_step(nadir_context *context, nadir_lbfgs *lbfgs, const double *pi,
                              const nadir_policy_gradient *g, double *delta);

#endif
