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
    int64_t rows;
    int most;                       /* pairs that are kept; 0: the diagonal alone */
    int count;                      /* pairs there are, oldest first */
    double *s[NADIR_SECANTS_MOST];  /* [rows] each, owned; NULL: not needed yet */
    double *y[NADIR_SECANTS_MOST];  /* the same */
    double *b[NADIR_SECANTS_MOST];  /* B s, B being that of the pairs before */
    double s_y[NADIR_SECANTS_MOST]; /* s . y > 0 */
    double s_b[NADIR_SECANTS_MOST]; /* s . b > 0 */
    double *diagonal;               /* [rows] */
    double *work[4];                /* [rows] each */
} nadir_secants;

nadir_status nadir_secants_make(nadir_context *context, int64_t rows, int most, nadir_secants *secants);
void nadir_secants_clear(nadir_context *context, nadir_secants *secants);

/* Memory for so many pairs, which is taken as they come: three vectors as long as a policy each. */
nadir_status nadir_secants_reserve(nadir_context *context, nadir_secants *secants, int pairs);

/* Room for one more pair, the oldest being forgotten if need be: the caller fills s[count - 1], y[count - 1].
 * Not with most = 0. */
nadir_status nadir_secants_push(nadir_context *context, nadir_secants *secants);

/* Makes B anew from the pairs and diagonal(row of s) = metric[s] / alpha; pairs along which the gradient
 * does not fall are bent so that it does. metric: [states], positive. */
void nadir_secants_prepare(const nadir_context *context, const nadir_model *model, nadir_secants *secants,
                           const double *metric, double alpha);

/* The step from pi: [rows] to the policy that is best for the model with gradient g: [rows], by projected
 * gradients. delta: [rows], out. */
nadir_status nadir_secants_step(nadir_context *context, const nadir_model *model, nadir_secants *secants,
                                const double *metric, double alpha, const double *pi, const double *g,
                                double *delta);

#endif
