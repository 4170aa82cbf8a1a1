/*
 * secants.h: what the last steps have shown of the curvature of the worst return, as a quadratic model of it:
 *
 *     J(pi + delta) ~ J + g . delta - delta . B delta / 2,
 *
 * B by the BFGS formula from pairs s = step, y = fall of the gradient, starting from a diagonal. The step is
 * the maximiser of the model over all policies: it costs products with the pairs and projections, and no
 * evaluation.
 */
#ifndef NADIR_POLICY_SECANTS_H
#define NADIR_POLICY_SECANTS_H

#include "model/model.h"

enum { NADIR_SECANTS_MOST = 30 };

/* A struct of zeros holds nothing. */
typedef struct nadir_secants {
    const nadir_model *model;
    int64_t rows;
    int most;                       /* pairs that are kept; 0: the diagonal alone */
    int count;                      /* pairs there are, oldest first */
    double *s[NADIR_SECANTS_MOST];  /* [rows] each, owned; NULL: not needed yet */
    double *y[NADIR_SECANTS_MOST];  /* the same */
    double *b[NADIR_SECANTS_MOST];  /* B s, B being that of the pairs before */
    double s_y[NADIR_SECANTS_MOST]; /* s . y > 0 */
    double s_b[NADIR_SECANTS_MOST]; /* s . b > 0 */
    const double *metric; /* [states] of the diagonal, metric / alpha in the rows of a state; not owned */
    double alpha;
    double *work[3]; /* [rows] each; NULL as long as there was no pair */
    double *room;    /* as long as the actions of any state */
} nadir_secants;

/* The gradient of the worst return, d(s) (Q(s, a) - v(s)). Plain data. */
typedef struct nadir_slope {
    const double *d; /* [states] */
    const double *q; /* [rows] */
    const double *v; /* [states]; NULL: zeros */
    double least;    /* d counts as no nearer to 0 than this from above; minus infinity: as it is */
} nadir_slope;

static inline double nadir_slope_visits(const nadir_slope *slope, int64_t state)
{
    const double d = slope->d[state];
    return d < -slope->least || d > slope->least ? d : slope->least;
}

static inline double nadir_slope_at(const nadir_slope *slope, int64_t state, int64_t row)
{
    return nadir_slope_visits(slope, state) * (slope->q[row] - (slope->v != NULL ? slope->v[state] : 0));
}

nadir_status nadir_secants_make(nadir_context *context, const nadir_model *model, int most,
                                nadir_secants *secants);
void nadir_secants_clear(nadir_context *context, nadir_secants *secants);
/* No pairs, nor memory for any. */
void nadir_secants_forget(nadir_context *context, nadir_secants *secants);

/* Memory for so many pairs, which is taken as they come: three vectors as long as a policy each. */
nadir_status nadir_secants_reserve(nadir_context *context, nadir_secants *secants, int pairs);

/* Room for one more pair, the oldest being forgotten if need be: the caller fills s[count - 1], y[count - 1].
 * Not with most = 0. */
nadir_status nadir_secants_push(nadir_context *context, nadir_secants *secants);

/* Makes B anew from the pairs and diagonal(row of s) = metric[s] / alpha; pairs along which the gradient
 * does not fall are bent so that it does. metric: [states], positive; must stay. */
void nadir_secants_prepare(const nadir_context *context, nadir_secants *secants, const double *metric,
                           double alpha);

/* The step from pi: [rows] to the policy that is best for the model with gradient g, by projected gradients.
 * delta: [rows], out. */
nadir_status nadir_secants_step(nadir_context *context, nadir_secants *secants, const double *pi,
                                const nadir_slope *g, double *delta);

#endif
