/*
 * hardness.h: a 0/1 integer program as a robust Markov decision process.
 *
 *     is there x in {0, 1}^n with F x <= g and c.x <= zeta?        F: m x n, all whole numbers
 *
 * The ladder: states b_j, b0_j, b1_j for j = 1..n, c0 and the end tau; one action; mu uniform. The kernel has
 * one parameter xi_j in [0, 1] for each j, and uses it twice:
 *
 *     b_j -> b1_j with xi_j, b0_j else;   b0_j -> b1_j with xi_j, tau else;   b1_j -> tau;   c0 -> every b_j
 *
 * b1_j pays M, b0_j pays r_j, and r_j is such that, with w = 1 + gamma / n (visits of b_j from itself and
 * c0),
 *
 *     S J(xi) = J_0 + sum_j [ c_j xi_j + K xi_j (1 - xi_j) ],   K = w gamma^2 M,   J_0 = S J(0)
 *
 * that is r_j = M + (gamma M - c_j) / (gamma w): a whole xi pays c.xi, all others more. The return is concave
 * in xi, so the worst case over {F xi <= g, 0 <= xi <= 1} is at a vertex. With e < 1 / (2 max(|c|_1, row sums
 * of |F|)) and K e (1 - e) >= |c|_1 + |zeta| the answer is yes exactly when the worst S J is at most
 * J_0 + zeta + 1/2: a vertex as low as that is within e of a whole x, which then has F x < g + 1, c.x < zeta
 * + 1.
 */
#ifndef NADIR_PAPER_HARDNESS_H
#define NADIR_PAPER_HARDNESS_H

#include "inside.h"

enum { HARDNESS_MOST = 16, HARDNESS_MOST_CONSTRAINTS = 4 };

typedef struct hardness_program {
    int n, m;
    int F[HARDNESS_MOST_CONSTRAINTS][HARDNESS_MOST];
    int g[HARDNESS_MOST_CONSTRAINTS];
    int c[HARDNESS_MOST];
    int zeta;
} hardness_program;

/* Entries of F and c uniform in -range..range, zeta and g within their reach. */
void hardness_draw(nadir_random *random, int n, int m, int range, hardness_program *program);

/* The least c.x by trying all 2^n; false: no x is feasible. */
bool hardness_enumerate(const hardness_program *program, int *least);

/* One constraint 1.x <= g: the least c.x is the sum of the g smallest c_j below zero; false for g < 0. */
bool hardness_closed_form(int n, const int *c, int g, int64_t *least);
/* The rule as the paper prints it: "no" for g < 0, "yes" for g = 0, else whether the g smallest c_j, of any
 * sign, sum to at most zeta. */
bool hardness_printed_rule(int n, const int *c, int g, int64_t zeta);

typedef struct hardness_ladder {
    double discount;
    double big;       /* M */
    double concavity; /* K */
    double base;      /* J_0 */
    int states;       /* 3 n + 2; b_j, b0_j, b1_j: j, n + j, 2 n + j; then c0, tau */
} hardness_ladder;

void hardness_ladder_make(const hardness_program *program, double discount, hardness_ladder *ladder);
/* The same ladder with `share` of its M: too small to force whole numbers, for a picture. */
void hardness_ladder_scale(const hardness_program *program, double share, hardness_ladder *ladder);
/* P_xi with its rewards. */
nadir_status hardness_ladder_model(nadir_context *context, const hardness_program *program,
                                   const hardness_ladder *ladder, const double *xi, nadir_model **model);
/* S J of that model, solved by the library. */
nadir_status hardness_ladder_return(nadir_context *context, const hardness_program *program,
                                    const hardness_ladder *ladder, const double *xi, double *scaled_return);
/* The same by the formula above. */
double hardness_ladder_formula(const hardness_program *program, const hardness_ladder *ladder,
                               const double *xi);

typedef struct hardness_answer {
    int64_t vertices; /* feasible ones whose return was solved for; 0: the set is empty */
    double least;     /* min over the set of S J(xi) - J_0 */
    double xi[HARDNESS_MOST];
    double formula_error; /* |solved - formula| / (|J_0| + K), at most */
    bool yes;
} hardness_answer;
/* The robust problem: every vertex of the set, as a model. */
nadir_status hardness_solve(nadir_context *context, const hardness_program *program,
                            const hardness_ladder *ladder, hardness_answer *answer);

/* The one-constraint case as an L_1 ball that nadir_solver_robust solves. n states b_j with successors "one"
 * (pays c_j) and "zero", nominal xi = 2^-20, all other rows pinned, domain support: the ball of radius
 * 2 g (1 - 2^-20) moves g of the xi_j to one. Gives min c.x, exact but for some 2^-20 n max|c|. */
nadir_status hardness_ball(nadir_context *context, int n, const int *c, int g, double *least);

#endif
