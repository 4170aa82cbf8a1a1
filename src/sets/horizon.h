/*
 * horizon.h: the return of H steps under one kernel for all steps.
 *
 *     J_P = sum over n < H of gamma^n E r(s_n, a_n, s_{n+1}),    0 <= gamma <= 1,
 *     v_n(s) = sum_a pi_n(a|s) P_sa . (r_sa + gamma v_{n+1}),    v_H = 0,    J_P = mu . v_0
 *     d_{n+1} = (P^{pi_n})^T d_n,    d_0 = mu
 *
 * J_P is a polynomial in P. For any two kernels, with c_{n,sa} = r_sa + gamma v^Q_{n+1},
 *
 *     J_P - J_Q = sum_n gamma^n sum_sa d^P_n(s) pi_n(a|s) (P - Q)_sa . c_{n,sa},
 *
 * so that its gradient is G_sa = sum_n gamma^n d_n(s) pi_n(a|s) c_{n,sa}: every row has costs of its own, and the
 * linear step is that of lmo_row_costs.h. No shaping of rewards is exact over a finite horizon: rewards paid on
 * landing stay what they are, a number for each row and what is paid beyond it, g(t) + e(row, t) of model/landing.h.
 *
 * A kernel is an array of numbers, one for each allowed successor of each row: those of positive nominal
 * probability on domain support, all states on domain simplex.
 */
#ifndef NADIR_SETS_HORIZON_H
#define NADIR_SETS_HORIZON_H

#include "sets/lmo_row_costs.h"

/* Values and occupancies of all steps are kept up to this many numbers each. */
#define NADIR_HORIZON_LIMIT 100000000

/* A struct of zeros holds nothing. */
typedef struct nadir_horizon {
    nadir_model *model;
    const nadir_uncertainty *set;
    int64_t steps;                       /* H, 1 or more */
    double gamma;                        /* 0 to 1 */
    double sign;                         /* 1, or -1 for the best case: rewards are negated */
    const nadir_policy *const *policies; /* [steps], or one for all */
    bool stationary;
    int64_t states, rows, entries;
    int64_t *starts;     /* [rows + 1] of the entries of a row */
    int32_t *columns;    /* [entries] allowed successors, rising in a row */
    double *nominal;     /* [entries] Phat */
    double *paid;        /* [entries] sign (g + e): what is paid on landing, up to a number for the row */
    double *shift;       /* [states] sign g */
    double landing;      /* sign, where e is not zero; else 0 */
    double reward_size;  /* at least |R_P| of all kernels */
    double reward_error; /* at least the error of R_P by the rounding of rewards paid on landing */
    double roundings;    /* of a row's product, averaged over a policy */
} nadir_horizon;

/* policies: [count], count = steps or 1; they must outlive *made. NADIR_ERROR_UNSUPPORTED: domain free, several
 * processes, or more rows or steps than fit. */
nadir_status nadir_horizon_make(nadir_context *context, nadir_model *model, const nadir_uncertainty *set,
                                int64_t steps, int64_t count, const nadir_policy *const *policies,
                                bool optimistic, nadir_horizon *made);
void nadir_horizon_clear(nadir_context *context, nadir_horizon *self);

static inline const nadir_policy *nadir_horizon_policy(const nadir_horizon *self, int64_t step)
{
    return self->policies[self->stationary ? 0 : step];
}

/* A kernel with its values and occupancies. A struct of zeros holds nothing. */
typedef struct nadir_horizon_point {
    double *P; /* [entries] */
    double *R; /* [rows] R_P */
    double *v; /* [(steps + 1) * states] */
    double *d; /* [steps * states] gamma^n d_n */
    double J;
} nadir_horizon_point;

/* The nominal kernel; evaluated. */
nadir_status nadir_horizon_point_make(nadir_context *context, const nadir_horizon *self,
                                      nadir_horizon_point *point);
void nadir_horizon_point_clear(nadir_context *context, nadir_horizon_point *point);

/* v and J of P; then d. */
void nadir_horizon_values(const nadir_horizon *self, nadir_horizon_point *point);
void nadir_horizon_occupancies(const nadir_horizon *self, nadir_horizon_point *point);

/* G: [entries], from v and d. spread: of d instead a share of each state that is the same for all. */
void nadir_horizon_gradient(const nadir_horizon *self, const nadir_horizon_point *point, bool spread,
                            double *G);

/* At least the error of every v_n by rounding, and by rows that sum to one up to rounding: [steps + 1]. The
 * error of J is that of v_0 and of one more product. */
void nadir_horizon_value_errors(const nadir_horizon *self, const double *v, double *errors);
double nadir_horizon_return_error(const nadir_horizon *self, const nadir_horizon_point *point,
                                  const double *errors);

/* y <- P^{pi_n} x, or its transpose times x; [states]. */
void nadir_horizon_multiply(const nadir_horizon *self, const double *P, int64_t step, const double *x,
                            double *y);
void nadir_horizon_multiply_transposed(const nadir_horizon *self, const double *P, int64_t step,
                                       const double *x, double *y);

#endif
