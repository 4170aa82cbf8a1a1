/*
 * frank_wolfe.h: the search for the worst kernel of the non-rectangular ball on the domains simplex and
 * support: Frank-Wolfe (conditional gradient) with an exact linear minimisation oracle. It finds a stationary
 * kernel; whether that is the worst one is for proofs to say.
 */
#ifndef NADIR_SEARCH_FRANK_WOLFE_H
#define NADIR_SEARCH_FRANK_WOLFE_H

#include "proof/certificate.h"
#include "search/kernel_solver.h"
#include "search/lagrangian_search.h"
#include "sets/lmo.h"
#include "sets/lmo_row_costs.h"
#include "sets/uncertainty.h"

/* Several searches one after another, which keep operators, row solutions and kernels from one to the
 * next. */
typedef struct nadir_frank_wolfe nadir_frank_wolfe;

/* Starts from `start`, a kernel of the set (NULL: the nominal one; not kept), and stops when the stationarity
 * gap is below tolerance times the penalty. candidate: of zeros; all fields but c, k and lambda are set.
 * Reaching the limit is not an error: see `converged`. */
nadir_status nadir_frank_wolfe_run(nadir_context *context, const nadir_problem *problem, double beta,
                                   const nadir_kernel *start, double tolerance, int64_t iterations_limit,
                                   nadir_candidate *candidate);

nadir_status nadir_frank_wolfe_create(nadir_context *context, const nadir_problem *problem,
                                      nadir_frank_wolfe **frank_wolfe);
void nadir_frank_wolfe_free(nadir_context *context, nadir_frank_wolfe *self);

/* Exchanges the two kernels that steps write over, NULL at first, for spare[2], kernels of the model or
 * NULL. */
void nadir_frank_wolfe_exchange_kernels(nadir_frank_wolfe *frank_wolfe, nadir_kernel **spare);

/* As nadir_frank_wolfe_run, from the solution of the linear problem at v and d, [states] each: about value
 * and occupancy of the worst kernel. */
nadir_status nadir_frank_wolfe_from(nadir_context *context, nadir_frank_wolfe *frank_wolfe, double beta,
                                    const double *v, const double *d, double tolerance,
                                    int64_t iterations_limit, nadir_candidate *candidate);

/* Goes on from a candidate with kernel, v, d and J; iterations_limit counts those it has. */
nadir_status nadir_frank_wolfe_continue(nadir_context *context, nadir_frank_wolfe *frank_wolfe, double beta,
                                        double tolerance, int64_t iterations_limit,
                                        nadir_candidate *candidate);

/* The same with a search of its own. spare: [2] owned kernels of the model that may be written over, or NULL;
 * the caller owns what is there afterwards, too. */
nadir_status nadir_frank_wolfe_warm(nadir_context *context, const nadir_problem *problem, double beta,
                                    const double *v, const double *d, double tolerance,
                                    int64_t iterations_limit, nadir_kernel **spare,
                                    nadir_candidate *candidate);

/*
 * One inexact response: the kernel that solves the linear problem at v and d, [states] each, with its v, d
 * and J, which a few steps of an iteration compute. p = 2. The gap is an upper bound: with G and G' the
 * weights times costs before and after, each row less its mean,
 *
 *     gap <= sum over rows of alpha^2 |G'_r - G_r|_2^2 / (4 tau),
 *
 * since the kernel minimises <G, X> + tau |X - Phat|^2, which is 2 tau-strongly convex, and has |X - Phat| =
 * beta. Infinite where tau = 0.
 */
nadir_status nadir_frank_wolfe_inexact(nadir_context *context, nadir_frank_wolfe *frank_wolfe, double beta,
                                       const double *v, const double *d, nadir_candidate *candidate);

/*
 * Full steps from a candidate until it is as stationary as proofs need it: until the sum over states of
 *
 *     e_s = sum over a of [g_sa . P_sa - min over allowed successors of g_sa],
 *     g = d pi (gamma v + e) + 2 tau Delta / alpha^2,
 *
 * is at most `wanted`, or three steps did not make it smaller. Rows of states that are not visited become
 * nominal. The candidate becomes the kernel with the smallest sum. p = 2; nothing is done for other norms.
 * search: the one whose last result the candidate is, at this beta; NULL: none.
 */
nadir_status nadir_frank_wolfe_polish(nadir_context *context, const nadir_problem *problem, double beta,
                                      nadir_frank_wolfe *search, double wanted, nadir_candidate *candidate);

/* -------------------------------------------------- state of a search, for frank_wolfe*.c alone */

/* A kernel with what the search needs to know of it. */
typedef struct nadir_frank_wolfe_point {
    nadir_kernel *kernel;
    double *v; /* [states] */
    double *d; /* [states] */
    double J;
} nadir_frank_wolfe_point;

struct nadir_frank_wolfe {
    const nadir_problem *problem;
    double beta;
    nadir_kernel_solver solver;
    nadir_frank_wolfe_point current;
    nadir_frank_wolfe_point next; /* the next one; its kernel is filled anew for every step */
    nadir_value_order order;      /* of current.v */
    nadir_lmo rows;
    nadir_lmo_device device_lmo;   /* linear steps by a device, where there is one */
    bool on_device;                /* the last solution of the linear problem is there */
    nadir_lmo_streamed streamed;   /* a solution given by one step for all rows, where rows suit that */
    bool is_streamed;              /* the last solution is of this kind */
    double *work;                  /* [2 * states] */
    nadir_lmo_solution *solutions; /* [rows] the linear step where neither does; NULL until then */
    nadir_lmo_budget budget;
    double gap;
    int64_t evaluations; /* of kernels */
    bool rough;          /* low accuracy of v and d suffices: later steps correct it */
    /* Proximal steps, where those to vertices fail. */
    bool proximal;
    bool vertices; /* never, nor the gap of the last kernel: of many searches most are not gone on with */
    nadir_uncertainty ball;    /* the set with the radius beta; owns nothing */
    nadir_lmo_row_costs costs; /* of zeros until then */
    double curvature;          /* of the return along the last step; 0: not known */
};

/* Copies v and d: [states], into a point, which has lost its own where it was handed over. */
nadir_status nadir_frank_wolfe_place(nadir_context *context, nadir_frank_wolfe_point *point, int64_t states,
                                     const double *v, const double *d);
void nadir_frank_wolfe_point_swap(nadir_frank_wolfe_point *a, nadir_frank_wolfe_point *b);

/* v, d and J of a point's kernel; warm_start: a point that may be close to it, or NULL. */
nadir_status nadir_frank_wolfe_evaluate(nadir_context *context, nadir_frank_wolfe *self,
                                        const nadir_frank_wolfe_point *warm_start,
                                        nadir_frank_wolfe_point *point);

/* Solves the linear problem at `current`: row solutions and budget. host: not by the device. */
nadir_status nadir_frank_wolfe_lmo(nadir_context *context, nadir_frank_wolfe *self, bool host);

/* The weights gamma d pi of the rows at `current`. */
static inline nadir_lmo_weights nadir_frank_wolfe_weights(const nadir_frank_wolfe *self)
{
    const nadir_problem *problem = self->problem;
    return (nadir_lmo_weights){problem->gamma, self->current.d, problem->policy->probabilities};
}
/* The kernel of that solution. */
nadir_status nadir_frank_wolfe_write(nadir_context *context, nadir_frank_wolfe *self, nadir_kernel **kernel);

/* The gap of a kernel whose v, d and J are those of `current`, after nadir_frank_wolfe_lmo. */
nadir_status nadir_frank_wolfe_gap(nadir_context *context, nadir_frank_wolfe *self, nadir_kernel *kernel);

/* ---------------------------------------------------------------------------------- several starts
 *
 * Frank-Wolfe from several starts.
 *
 * A state that the current kernel does not visit has no gradient, so that a search from the nominal kernel
 * can stop at a local optimum. The rows of the Lagrangian bound are minimisers in every state, visited or
 * not; a search from there, moved into the ball, finds what the other one misses.
 */

/* After a search: where the candidate does not visit a state that some kernel of the set reaches, searches from
 * kernels of Lagrangian bounds, too. The candidate becomes the worst result. */
nadir_status nadir_multistart_missed(nadir_context *context, const nadir_problem *problem, double beta,
                                     double tolerance, int64_t iterations_limit, nadir_candidate *candidate);

/* From the kernel of a Lagrangian bound. The candidate becomes the result if that is worse for the policy by
 * more than the tolerance; *better says so. */
nadir_status nadir_multistart_again(nadir_context *context, const nadir_problem *problem, double beta,
                                    const nadir_lagrangian *lagrangian, double tolerance,
                                    int64_t iterations_limit, nadir_candidate *candidate, bool *better);

/*
 * From further starts, for a problem that is not convex: from the worst kernels of larger balls, followed down to the
 * ball; from kernels that enter the best states least; from kernels that hold the chain in one state or on a cycle through
 * it, for every state; and from the candidate with one state more or less in which it holds the chain. The candidate becomes the worst result; *better says whether it
 * changed. The number of kernels evaluated has a limit: see multistart.c. One process.
 */
nadir_status nadir_multistart_further(nadir_context *context, const nadir_problem *problem, double beta,
                                      double tolerance, int64_t iterations_limit, nadir_candidate *candidate,
                                      bool *better);

/* --------------------------------------------------------------------------------- path over radii
 *
 * Worst kernels of growing balls, each searched for from those of the radii before.
 *
 * Value and occupancy under the worst kernel are smooth functions of the radius, except where a row meets the
 * boundary of its domain. Extrapolation from the last five radii has an error of fifth order in the step; the
 * kernel that solves the linear problem there has a return with the square of that error, and is nearly
 * stationary.
 */

enum { NADIR_RADIUS_PATH_POINTS = 5 };

/* A struct of zeros with the problem set is empty. */
typedef struct nadir_radius_path {
    const nadir_problem *problem;
    int count;
    double beta[NADIR_RADIUS_PATH_POINTS];                    /* rising */
    nadir_frank_wolfe_point points[NADIR_RADIUS_PATH_POINTS]; /* v and d */
    nadir_frank_wolfe *frank_wolfe;                           /* along the path; NULL: none yet */
} nadir_radius_path;

void nadir_radius_path_clear(nadir_context *context, nadir_radius_path *path);

/* Adds a point and drops the oldest one. A point of the same radius replaces the last; one of a smaller
 * radius is ignored. v, d: [states], copied. */
nadir_status nadir_radius_path_add(nadir_context *context, nadir_radius_path *path, double beta,
                                   const double *v, const double *d);

/* A search from the extrapolation to the radius beta; the path is not empty. candidate: of zeros. */
nadir_status nadir_radius_path_follow(nadir_context *context, nadir_radius_path *path, double beta,
                                      double tolerance, int64_t iterations_limit, nadir_candidate *candidate);

#endif
