/*
 * rows.h: linear problems over rows of the kernel, domains simplex and support.
 *
 * X_r is a distribution (on the nominal successors of row r, for `support`), Delta = X_r - Phat_r, w_r >= 0 a
 * weight and alpha_r the scale of the row; a row of alpha_r = 0 or w_r = 0 keeps its nominal numbers.
 *
 *     priced    min w X . v + price (|Delta|_p / alpha)^p
 *     budget    min sum_r w_r X_r . v    with    sum_r (|Delta_r|_p / alpha_r)^p <= beta^p
 *
 * over one row (sa-rectangular, radius alpha beta), the rows of a state (s-rectangular), or all rows (the
 * linear step of the non-rectangular ball). p = infinity: |Delta_r|_inf <= alpha_r beta for each row. With x
 * of order.h, measured from the smallest that is allowed in the row, the answers are, with one level omega
 * for each row (the files of this folder derive them),
 *
 *     p = 1         all of what lies above omega, and a share of what lies at omega, goes to the smallest v
 *     1 < p < inf   X = max(0, Phat + alpha change(omega - x)) in every allowed successor, where change(g) =
 *                   sign(g) (step |g|)^(q-1) for p <= 2 and sign(g) step |g|^(q-1) for p >= 2, q = p/(p-1)
 *     p = inf       alpha beta more on what lies before omega in the order, as much less on what lies after
 *
 * Answers are a few numbers for each row, whatever its length: nadir_lmo_kernel writes them out.
 */
#ifndef NADIR_ADVERSARY_ROWS_H
#define NADIR_ADVERSARY_ROWS_H

#include "adversary/rows/value_order.h"
#include "kernel/kernel.h"

/* What all row problems share. Plain data: set p with its conjugate q, and fill in the rest; nothing is
 * owned. */
typedef struct nadir_lmo {
    nadir_model *model;
    const nadir_value_order *order; /* of v */
    const double *scales;           /* [rows] alpha; NULL: all one */
    nadir_domain domain;            /* NADIR_DOMAIN_SIMPLEX or NADIR_DOMAIN_SUPPORT */
    double p, q;
} nadir_lmo;

/* The answer of one row. A struct of zeros: the row is as it was. */
typedef struct nadir_lmo_solution {
    double omega; /* level above the smallest allowed x of the row */
    double upper; /* p other than 1, 2 and infinity: where omega has too few digits, the answer is a mixture
                     of those at omega and at this */
    double share; /* p = 1: of the entries at omega that moves; p = inf: what the entry at omega is changed
                     by; else the share of `upper` in the mixture */
    double step;  /* 1 < p < inf: see above; p = 1: entries by more than 2 / step above the smallest move; p =
                     inf: beta. 0: the row is as it was; infinity (p < inf): all mass is at the smallest v */
    int32_t pivot; /* p = inf: the place of omega in the order, which breaks ties */
    double gain;   /* Phat . v - X . v >= 0 */
    double norm;   /* |Delta|_p / alpha */
} nadir_lmo_solution;

/* What rows that share a budget have in common. */
typedef struct nadir_lmo_budget {
    double tau;  /* multiplier of sum (|Delta| / alpha)^p (p = inf: of max |Delta| / alpha); 0: the ball does
                    not matter */
    double step; /* of a row of alpha w = 1; infinity where tau = 0 */
    double gain; /* sum of w_r gain_r */
    double norm; /* (sum (|Delta| / alpha)^p)^(1/p), at most beta */
} nadir_lmo_budget;

/* Numbers of working space that the functions below want for rows first .. end - 1 at a time. */
int64_t nadir_lmo_work_size(const nadir_lmo *rows, int64_t first, int64_t end);

/* weight >= 0, price >= 0; 1 <= p < infinity. answer->omega and step of a similar problem serve as a start
 * (zeros: none). The minimum itself is weight (Phat . v - gain) + price norm^p. */
void nadir_lmo_penalized(const nadir_lmo *rows, int64_t row, double weight, double price, double *room,
                         nadir_lmo_solution *answer);

/* Rows first .. end - 1 share beta >= 0, on the calling thread. weights, answers: [end - first]; answers
 * of a similar problem serve as a start (zeros: none). */
void nadir_lmo_solve(const nadir_lmo *rows, int64_t first, int64_t end, const double *weights, double beta,
                     double *room, nadir_lmo_solution *answers, nadir_lmo_budget *budget);

/* All rows share beta, threaded. weights, answers: [rows]. */
nadir_status nadir_lmo_solve_all(nadir_context *context, const nadir_lmo *rows, const double *weights,
                                 double beta, nadir_lmo_solution *answers, nadir_lmo_budget *budget);

/*
 * Upper bounds on what the adversary can gain, by weak duality: for every omega and every split x - omega =
 * g1 + g2 with g2 >= 0
 *
 *     Phat . x - X . x <= Phat . g2 + |Delta|_p |g1|_q.
 *
 * omega and the split are made of the answers' omega and step, which may be any numbers: they decide how
 * tight the bound is, not whether it holds. Rounding is included, that of x too: all are bounds for v itself.
 */
typedef struct nadir_lmo_row_bound {
    double fixed; /* at least Phat . g2 range */
    double slope; /* at least |g1|_q range */
    /* x is v rounded: the smaller of `error` and error_slope |Delta|_p comes on top of fixed + slope
     * |Delta|_p
     */
    double error, error_slope;
} nadir_lmo_row_bound;

nadir_lmo_row_bound nadir_lmo_bound(const nadir_lmo *rows, int64_t row, const nadir_lmo_solution *answer,
                                    double *room);

/* Gain of one row within |Delta|_p <= radius. */
double nadir_lmo_bound_radius(const nadir_lmo_row_bound *bound, double radius);
/* weight Phat . v less the minimum of the priced problem. */
double nadir_lmo_bound_penalized(const nadir_lmo *rows, int64_t row, double weight, double price,
                                 const nadir_lmo_row_bound *bound);
/* sum of w_r gain_r of rows that share beta: sum w_r fixed_r + beta (sum (w_r alpha_r slope_r)^q)^(1/q). */
double nadir_lmo_bound_shared(const nadir_lmo *rows, int64_t first, int64_t end, const double *weights,
                              double beta, const nadir_lmo_row_bound *bounds);
/* The same, less price times what they use of beta^p: p < infinity. */
double nadir_lmo_bound_charged(const nadir_lmo *rows, int64_t first, int64_t end, const double *weights,
                               double beta, double price, const nadir_lmo_row_bound *bounds);

/* The row X: dense [states]. */
void nadir_lmo_write_dense(const nadir_lmo *rows, int64_t row, const nadir_lmo_solution *answer, double *room,
                           double *X);

/* The kernel of all answers, [rows]: in place where *kernel is one that this function made and the answers
 * fit, made anew otherwise (*kernel may be NULL). Threaded. Tilted; explicit rows for p other than 1, 2 and
 * infinity on domain simplex where the model has lists of transitions. */
nadir_status nadir_lmo_kernel(nadir_context *context, const nadir_lmo *rows,
                              const nadir_lmo_solution *answers, nadir_kernel **kernel);

/* The same row by row, for who keeps no answers: *kernel ready to be filled, with its arrays, and then every
 * row once, on any thread. Not where rows become explicit. */
nadir_status nadir_lmo_kernel_blank(nadir_context *context, const nadir_lmo *rows, nadir_kernel **kernel,
                                    nadir_perturbed **perturbed);
void nadir_lmo_kernel_fill(const nadir_lmo *rows, int64_t row, const nadir_lmo_solution *answer,
                           nadir_perturbed *perturbed);

#endif
