/* frank_wolfe_internal.h: the state of a Frank-Wolfe search, for frank_wolfe*.c alone. */
#ifndef NADIR_SEARCH_FRANK_WOLFE_INTERNAL_H
#define NADIR_SEARCH_FRANK_WOLFE_INTERNAL_H

#include "search/frank_wolfe.h"
#include "search/kernel_solver.h"
#include "sets/lmo.h"

/* A kernel with what the search needs to know of it. */
typedef struct nadir_frank_wolfe_point {
    nadir_kernel *kernel;
    double *v; /* [states] */
    double *d; /* [states] */
    double J;
} nadir_frank_wolfe_point;

struct nadir_frank_wolfe {
    const nadir_problem *problem;
    const nadir_frank_wolfe *warm_start; /* whose row solutions are the start; or NULL */
    double beta;
    nadir_kernel_solver solver;
    nadir_frank_wolfe_point current;
    nadir_frank_wolfe_point next; /* the next one; its kernel is filled anew for every step */
    nadir_value_order order;      /* of current.v */
    nadir_lmo rows;
    nadir_lmo_device remote; /* linear steps by a device, where there is one */
    bool on_device;          /* the last solution of the linear problem is there */
    nadir_lmo_streamed step; /* a solution given by one step for all rows, where rows suit that */
    bool stepped;            /* the last solution is of this kind */
    double *work;            /* [2 * states] */
    /* Where rows do not suit, or both of these found nothing; NULL until then: */
    nadir_lmo_solution *answers; /* [rows] the linear step from here */
    double *weights;             /* [rows] gamma d pi */
    nadir_lmo_budget budget;
    double gap;
    bool rough;           /* low accuracy of v and d suffices: later steps correct it */
    nadir_kernel *before; /* where the last step came from, if it went part of the way; NULL otherwise */
    double share;         /* of it in `current` */
};

/* rows.order points into the struct: it must stay where it is. A struct of zeros holds nothing. */
nadir_status nadir_frank_wolfe_begin(nadir_context *context, const nadir_problem *problem, double beta,
                                     const nadir_frank_wolfe *warm_start, nadir_frank_wolfe *self);
void nadir_frank_wolfe_finish(nadir_context *context, nadir_frank_wolfe *self);

nadir_status nadir_frank_wolfe_point_make(nadir_context *context, int64_t states,
                                          nadir_frank_wolfe_point *made);
void nadir_frank_wolfe_point_clear(nadir_context *context, nadir_frank_wolfe_point *made);
void nadir_frank_wolfe_point_swap(nadir_frank_wolfe_point *a, nadir_frank_wolfe_point *b);

/* v, d and J of a point's kernel; warm_start: a point that may be close to it, or NULL. */
nadir_status nadir_frank_wolfe_evaluate(nadir_context *context, nadir_frank_wolfe *self,
                                        const nadir_frank_wolfe_point *warm_start,
                                        nadir_frank_wolfe_point *point);

/* Solves the linear problem at `current`: row answers and budget. */
nadir_status nadir_frank_wolfe_lmo(nadir_context *context, nadir_frank_wolfe *self);

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

#endif
