/*
 * perturbable_rows.h: the rows that the adversary can change, with all successors that the domain allows
 * them, as a sparse matrix by rows.
 *
 * A row can be changed if its scale and its probability under the policy are positive and it has more than
 * one allowed successor. All others count as nominal in every kernel of the set, as do entries of weight 0.
 */
#ifndef NADIR_PROOF_PERTURBABLE_ROWS_H
#define NADIR_PROOF_PERTURBABLE_ROWS_H

#include "core/round.h"
#include "proof/certificate.h"
#include "proof/verified_solve.h"
#include "sets/lmo.h"
#include "sets/uncertainty.h"

/* A struct of zeros holds nothing. */
typedef struct nadir_perturbable_rows {
    int64_t states, count, entries; /* count: of perturbable rows */
    int64_t total;                  /* states of all processes */
    const nadir_exchange *exchange; /* of the model */
    const int64_t *rows;            /* [count] of the model, rising; NULL: all of them */
    const int64_t *first;           /* [states + 1] rows of a state: first[s] .. first[s + 1] - 1 */
    const int64_t *starts;          /* [count + 1] entries of a row */
    const int32_t *columns;         /* [entries]; NULL: all rows allow all states, in their order (never so
                                       where states are spread over processes) */
    const double *phat;             /* [entries] the nominal numbers */
    const double *alpha;            /* [count] scales; NULL: all one */
    const double *pi;               /* [count] probabilities */
    double *squares;                /* [entries] weights of entries, squared; NULL: all one */
    double *landing;                /* [entries] problem->landing times e, which adds to v; NULL: zero */
    bool
        open; /* rows list the successors that they have in the nominal kernel or in a candidate; all other states are
                  allowed, too, and have probability zero in both */
    /* All NULL where all entries of the model are here: then the above are arrays of model, policy and set.
     */
    int64_t *own_rows, *own_first, *own_starts;
    int32_t *own_columns;
    double *own_phat, *own_alpha, *own_pi;
} nadir_perturbable_rows;

nadir_status nadir_perturbable_rows_make(nadir_context *context, const nadir_problem *problem,
                                         nadir_perturbable_rows *perturbable);
void nadir_perturbable_rows_clear(nadir_context *context, nadir_perturbable_rows *perturbable);

/*
 * Open rows, for sparse models on domain simplex whose allowed entries are too many to be listed: those of the
 * nominal kernel and of `kernel`. They are for nadir_second_order_prove_large around that kernel alone. Not for rewards
 * on landing that are not separable, nor for several processes.
 */
nadir_status nadir_perturbable_rows_make_open(nadir_context *context, const nadir_problem *problem,
                                              const nadir_kernel *kernel,
                                              nadir_perturbable_rows *perturbable);

/* The most entries of rows that are listed where they allow all states: 320 MB. */
#define NADIR_LISTED_ENTRIES 2e7

/* Whether a proof by nadir_second_order_prove_large needs open rows, and can have them. */
bool nadir_perturbable_rows_must_be_open(const nadir_problem *problem);

/* The row of the model, and its scale. */
static inline int64_t nadir_perturbable_rows_row(const nadir_perturbable_rows *perturbable, int64_t i)
{
    return perturbable->rows != NULL ? perturbable->rows[i] : i;
}

static inline double nadir_perturbable_rows_alpha(const nadir_perturbable_rows *perturbable, int64_t i)
{
    return perturbable->alpha != NULL ? perturbable->alpha[i] : 1;
}

/* The square of the weight of an entry. */
static inline double nadir_perturbable_rows_square(const nadir_perturbable_rows *perturbable, int64_t entry)
{
    return perturbable->squares != NULL ? perturbable->squares[entry] : 1;
}

/* How many successors the domain allows row i. */
static inline int64_t nadir_perturbable_rows_allowed(const nadir_perturbable_rows *perturbable, int64_t i)
{
    return perturbable->open ? perturbable->states : perturbable->starts[i + 1] - perturbable->starts[i];
}

/* The successor of an entry of a row, counted from the start of the row. */
static inline int64_t nadir_perturbable_rows_column(const nadir_perturbable_rows *perturbable, int64_t i,
                                                    int64_t entry)
{
    return perturbable->columns != NULL ? perturbable->columns[perturbable->starts[i] + entry] : entry;
}

static inline int64_t nadir_perturbable_rows_length(const nadir_perturbable_rows *perturbable, int64_t i)
{
    return perturbable->starts[i + 1] - perturbable->starts[i];
}

/* States that some kernel of the set visits: reach[states]. With several processes on domain support. */
nadir_status nadir_reachable_states(nadir_context *context, const nadir_problem *problem, bool *reach);

/*
 * How far a change of rows can move an occupancy.
 *
 * sigma_i(g) is the most that a change of perturbable row i of length one, with sum zero and within the
 * domain, adds to X_i . g; entries of X that are zero may only grow:
 *
 *     sigma_i(g)^2 = min over c of  sum where X > 0 of (g - c)^2 + sum where X = 0 of max(0, g - c)^2,
 *
 * so that every c gives an upper bound. For a state, k(s, g)^2 = sum over its rows of (alpha pi sigma(g))^2.
 */

/* A struct of zeros holds nothing. */
typedef struct nadir_sensitivity {
    const nadir_perturbable_rows *perturbable;
    const double *X;   /* [entries] */
    int64_t *starts;   /* [count + 1] of the lists below; NULL: they are empty */
    int32_t *positive; /* [starts[count]] successors with X > 0, of rows that allow all states and have few */
    double *full;      /* [states] sum of (alpha pi)^2 over rows that count as positive everywhere */
    bool symmetric;    /* all rows do: k(s, g) = k(s, -g) */
    int threads;
    nadir_value_order *rising, *falling; /* [threads] of a column and of its negative */
    double *negative;                    /* [threads * states] */
} nadir_sensitivity;

/* X is kept, not copied. NULL, where rows allow all states: all entries count as positive, which is cheaper
 * and gives larger bounds. */
nadir_status nadir_sensitivity_make(nadir_context *context, const nadir_perturbable_rows *perturbable,
                                    const double *X, nadir_sensitivity *sensitivity);
void nadir_sensitivity_clear(nadir_context *context, nadir_sensitivity *sensitivity);

/* up[t * states + s] = k(s, g_t)^2 and down = k(s, -g_t)^2 for columns g: [count * states], of mean about
 * zero. Rounding is included: no true number is above. down: may be NULL if it is symmetric. */
nadir_status nadir_sensitivity_tables(nadir_context *context, nadir_sensitivity *sensitivity, int64_t count,
                                      const double *g, double *up, double *down);

/* found[s] = k(s, -c)^2 of the states in `which`, [states], for the costs c = v + perturbable->landing that
 * each row has of its own; else 0. Rounding is included, but not that of the costs. */
nadir_status nadir_sensitivity_costs(nadir_context *context, const nadir_sensitivity *sensitivity,
                                     const bool *which, const double *v, double *found);

/*
 * The same for both signs with weights omega >= 1 on the entries, lengths being sqrt(sum omega delta^2):
 * both[t * states + s] is at least sum over rows of (alpha pi)^2 min over c of sum of (g - c)^2 / omega.
 * inverse_weights: [entries] 1 / omega.
 */
nadir_status nadir_sensitivity_weighted(nadir_context *context, const nadir_perturbable_rows *perturbable,
                                        const double *inverse_weights, int64_t count, const double *g,
                                        double *both);

/*
 * A kernel X of the set around which the occupancies of others are bounded, entry by
 * entry, with the columns of its D.
 *
 * For any numbers x with residual r = e_t - (I - gamma X^pi) x, and any kernel P,
 *
 *     d_P(t) = mu . x + gamma sum over s of d_P(s) sum_a pi(a|s) (P_sa - X_sa) . x + d_P . r.
 *
 * This is an identity: x may be any vector, and the accuracy of the solve enters through r alone. Rows of P -
 * X sum to zero, up to rounding of X, so x may be shifted: its mean is subtracted against cancellation.
 */

/* More roundings than any bound of a proof has beside its sums over states: 9007, or a relative error of
 * 1e-12. */
#define NADIR_PROOF_ROUNDINGS (1e-12 / NADIR_ROUND_UNIT)

/* A struct of zeros holds nothing. */
typedef struct nadir_expansion_point {
    const nadir_perturbable_rows *perturbable;
    nadir_problem problem; /* the problem given, with the occupancy operator of X and R_X^pi */
    nadir_verified_solver known;
    const double *X;      /* [entries] of the perturbable rows; all others are nominal */
    double *own_X;        /* NULL: the numbers are those of `kernel`, or nominal */
    double *own_R;        /* [states] R_X^pi, the R of the problem; NULL: that of the nominal kernel */
    double sum_off;       /* how far a row of X may be from summing to one */
    double total;         /* at least the sum of d_P, for every kernel P of the set */
    double *D;            /* [states * states] column t: x less its mean; NULL until asked for */
    double *d;            /* [states] mu . x, at least 0 */
    double *off;          /* [states] error of d and of the sum over d_P together */
    double shared;        /* a part of every `off` whose sum over states is at most this; 0: none */
    nadir_kernel *kernel; /* X, where it is not that of the candidate; or NULL */
    nadir_occupancy *occupancy;
    const nadir_candidate *start; /* whose v and d solves start from; NULL: none */
} nadir_expansion_point;

/* X is the kernel (NULL: the nominal one) without entries that are negative or not allowed, its rows scaled
 * to sum to one. Rows of states in `nominal`, [states] (NULL: none), become nominal. start: a candidate of this
 * kernel, which must outlive the point, for value and occupancy alone: solves start from its v and d and use
 * the factors of the nominal operator (nadir_occupancy_perturb); NULL: the point has an operator of its own. */
nadir_status nadir_expansion_point_make(nadir_context *context, const nadir_problem *problem,
                                        const nadir_perturbable_rows *perturbable, const nadir_kernel *kernel,
                                        const bool *nominal, const nadir_candidate *start,
                                        nadir_expansion_point *point);
void nadir_expansion_point_clear(nadir_context *context, nadir_expansion_point *point);

/* Computes d, and in `off` its error, without columns. */
nadir_status nadir_expansion_point_occupancy(nadir_context *context, nadir_expansion_point *point);

/* Computes D, d and off. */
nadir_status nadir_expansion_point_columns(nadir_context *context, nadir_expansion_point *point);

/* At least sum over s of d_P(s) for kernels whose rows sum to one. */
double nadir_expansion_point_total(const nadir_context *context, const nadir_problem *problem);

#endif
