/*
 * derivation.h: lower bounds on the return of every kernel of the non-rectangular ball, simplex and support,
 * inferred step by step from a candidate P* and a witness.
 *
 * Every function below is one inference: it holds whatever the steps before were and whatever numbers it is
 * given, so that any list of steps is a proof. Which steps are worth taking, and with which numbers, is for a
 * search (search/second_order_search.h). Each step is recorded in the certificate: the list is the witness
 * that nadir_derivation_replay proves the same bounds from, without a search.
 *
 *     bounds on d_P of all kernels of the set       limit (when it is made), set_pass
 *     J_U >= mu . v - tau beta^p                    lagrangian
 *     kappa by norms, kappa by Lanczos              by_norms, large
 *
 * The others are about the kernels P of the set, p = 2, with J_P < level = J* - error (kkt.h): all of them
 * have |delta| <= radius, delta = P - P*, and occupancies within `below`. Where no kernel is left, or kappa
 * <= 1/2 for those that are, J_U >= level. Otherwise
 *
 *     J_P >= level - 2 tau (kappa - 1/2) radius^2    and    J_P >= level - tau radius^2 / 4,
 *
 * the minimum of tau x^2 - tau radius x over x = |delta|. kappa may have a radial term (kappa.c).
 *
 * For every p the kernels below any level have narrower occupancies by the two-sided bound (bellman_bound.h): `narrow`
 * shows an end of the range of one state, or a bound on the returns of all that are left. Their box may be split at the
 * occupancy of a state, or at its part of the ball: what is shown then is about one box, `next` goes on to another, and after the last one the
 * least of what was shown of each is a bound on J_U.
 */
#ifndef NADIR_PROOF_DERIVATION_H
#define NADIR_PROOF_DERIVATION_H

#include "proof/bellman_bound.h"
#include "proof/certificate.h"
#include "proof/kappa.h"
#include "proof/kkt.h"

/* A struct of zeros holds nothing. It must stay where it is. */
typedef struct nadir_derivation {
    const nadir_problem *problem;
    const nadir_candidate *candidate; /* P*, tau, and v and d that solves start from */
    double beta;
    nadir_certificate *certificate; /* what has been shown */
    nadir_uncertainty two;
    nadir_problem enclosing;
    nadir_candidate inner;
    nadir_perturbable_rows perturbable;
    nadir_occupancy_bounds set; /* of all kernels of the set */

    /* P*, once it has been expanded around. */
    nadir_stationary_point star;
    double *slope;           /* [states] */
    double *up, *down;       /* [states * states] k^2 at P*; down NULL: as up; up NULL: not expanded */
    double *inverse_weights; /* [entries] then: 1 / omega (kkt.h) */
    double *up_weighted;     /* [states * states] */
    double *down_weighted;   /* [states * states] */

    /* Kernels below the level. */
    double level;
    nadir_occupancy_bounds below;
    nadir_displacement displacement; /* with weights, if there are any; without: star.displacement */
    double radius, radius_weighted;  /* at least |delta|, without weights and with them */
    double lift;                     /* at least sum rho_s slack . delta / tau (kkt.h) */
    double kappa;                    /* the least by slopes; infinity: none */
    double moved,
        moved_most; /* by the last pass: the last and the largest change, as a share of the total occupancy */
    nadir_kappa_matrix matrix;

    /* A tree of boxes of occupancies. */
    double *open; /* [open_count * (4 states + 1)] those to come: low, high, least and box_lower of each */
    int64_t open_count;
    size_t open_capacity;
    double box_lower;  /* at most J_P of the kernels in this box */
    double tree_lower; /* of those in the boxes that are done */
    double box_kappa;  /* the least shown of this box; infinity: none */
    double tree_kappa; /* the largest of the boxes that are done */

    /* Which of this is there. */
    bool
        encloses; /* problem, candidate and beta are those of the L_2 ball, and own two, enclosing and inner */
    bool has_rows;
    bool has_point; /* v and d of P* are recorded */
    bool tabulated; /* they are filled */
    bool weighted;  /* the slack of zeros is made use of */
    bool begun;
    bool has_kkt;  /* the level is that of P*, with its KKT data */
    bool measured; /* the weights and radius_weighted are of this start */
    bool fresh;    /* the weighted tables are of these weights */
    bool split;    /* `below` is one of several boxes */
} nadir_derivation;

/* certificate: nothing proven yet, made here. known: bounds on the occupancies of all kernels of the set that
 * are proven already, or NULL. candidate and certificate must outlive the derivation. */
nadir_status nadir_derivation_make(nadir_context *context, const nadir_problem *problem, double beta,
                                   const nadir_candidate *candidate, const nadir_occupancy_bounds *known,
                                   nadir_certificate *certificate, nadir_derivation *self);
void nadir_derivation_clear(nadir_context *context, nadir_derivation *self);

/* The L_2 ball that holds the non-rectangular L_p ball of radius beta: enclosing->uncertainty is `two`,
 * which the caller clears. */
nadir_status nadir_derivation_enclosing(nadir_context *context, const nadir_problem *problem, double beta,
                                        nadir_uncertainty *two, nadir_problem *enclosing, double *radius);
/* The answer of the rows to v with the penalty tau / high (lmo_by_state.h). v, high: [states]. */
nadir_status nadir_derivation_answer(nadir_context *context, const nadir_problem *problem, double beta,
                                     const double *high, double tau, const double *v, nadir_kernel **kernel);
/* Goes over to that ball. P* is the answer of its rows to v with the penalty tau / d, which is stationary where
 * v, d and tau are those of a stationary kernel. v, d: [states]. Before any other step about P*; tau > 0. */
nadir_status nadir_derivation_enclose(nadir_context *context, nadir_derivation *self, double tau,
                                      const double *v, const double *d);

/* At most `passes` over the occupancies of all kernels around the nominal one, until none moves by more than
 * `settled`, as a share of T. */
nadir_status nadir_derivation_set_passes(nadir_context *context, nadir_derivation *self, int64_t passes,
                                         double settled);

/* The Lagrangian bound of the whole set; v: [states]. */
nadir_status nadir_derivation_lagrangian(nadir_context *context, nadir_derivation *self, double tau,
                                         const double *v);

/* v and d of P* that the steps after it take, [2 states], before any has. Any numbers do. */
nadir_status nadir_derivation_set_point(nadir_context *context, nadir_derivation *self, const double *point);

/* kappa by norms (kappa.h), p = 2. */
nadir_status nadir_derivation_by_norms(nadir_context *context, nadir_derivation *self);
/* kappa without columns of D (second_order.h), p = 2. */
nadir_status nadir_derivation_large(nadir_context *context, nadir_derivation *self);

/* Columns of D at P*, p = 2 and tau > 0. */
nadir_status nadir_derivation_expand(nadir_context *context, nadir_derivation *self);
/* The tables of k^2: cheap ones, where all rows allow all states, or those of the rows as they are. */
nadir_status nadir_derivation_tabulate(nadir_context *context, nadir_derivation *self, bool coarse);
/* From now on with weights on the entries that are zero in P*. */
nadir_status nadir_derivation_use_weights(nadir_context *context, nadir_derivation *self);

/* Starts with all kernels of the set that are below the level: that of P*, or `most` where it is less (infinity: none is
 * given). Fewer kernels have narrower occupancies, so that a step taken again with a better solve is given the old level. */
nadir_status nadir_derivation_begin(nadir_context *context, nadir_derivation *self, double most);
/* Weights, displacement and radius from the occupancies. */
nadir_status nadir_derivation_measure(nadir_context *context, nadir_derivation *self);
/* One pass over the occupancies around P*. */
nadir_status nadir_derivation_pass(nadir_context *context, nadir_derivation *self);
/* The Lagrangian bound of the kernels below the level; v: [states]. There may be none left after it. */
nadir_status nadir_derivation_lagrangian_below(nadir_context *context, nadir_derivation *self, double tau,
                                               const double *v);
/* Passes around another kernel, which holds the kernels below the level by the Lagrangian bound
 * (bellman_bound.h). v, answered: [states]; the kernel is about the answer of the rows to `answered`,
 * which is recorded in its place. tau > 0. */
nadir_status nadir_derivation_pass_around(nadir_context *context, nadir_derivation *self,
                                          const nadir_kernel *kernel, double tau, const double *v,
                                          const double *answered);

/* J_U >= level, where no kernel is left or kappa by slopes is at most 1/2; otherwise nothing. */
nadir_status nadir_derivation_conclude(nadir_context *context, nadir_derivation *self);
/* The matrix of kappa, for nadir_kappa_cholesky_holds. shared: all rows allow all states. reach: of the radial term, if
 * that is more than what follows from the steps before; its last digits decide by how much kappa is below 1/2. 0: a
 * little more than what follows, so that others can take the same number. */
nadir_status nadir_derivation_matrix(nadir_context *context, nadir_derivation *self, bool shared,
                                     double reach);
/* What matrix.proven says, and what the radius alone does. */
nadir_status nadir_derivation_conclude_kappa(nadir_context *context, nadir_derivation *self);

/* What is known of the kernels below the level is dropped, and the level with it; not in one of several boxes. */
nadir_status nadir_derivation_forget(nadir_context *context, nadir_derivation *self);
/* A lower level, or any level before `begin`: then with all kernels of the set that are below it, and without P*. */
nadir_status nadir_derivation_set_level(nadir_context *context, nadir_derivation *self, double level);
/* The box as it is, but wider: box is low and high of all states, [2 states]; NULL: so much wider that others have room for
 * the errors of their solves. Steps after it take the same numbers whoever takes them: prices 1 / high of states that are
 * hardly visited depend on last digits otherwise. */
nadir_status nadir_derivation_box(nadir_context *context, nadir_derivation *self, const double *box);
/* One end of the range of state by->t (theta < 0: high; theta > 0: low), or with theta = 0 and zeta = 1 a bound on
 * returns. end: it becomes this, or what is proven where that is less; NaN: what is proven less some room, so that others
 * can take the same number. Recorded where it changes something. */
nadir_status nadir_derivation_narrow(nadir_context *context, nadir_derivation *self,
                                     const nadir_two_sided *by, double end);
/* Goes on with the kernels of d_P(s) <= at, and leaves those of d_P(s) >= at for later; low(s) < at < high(s). */
nadir_status nadir_derivation_split(nadir_context *context, nadir_derivation *self, int64_t s, double at);
/* Goes on with the kernels of x_s <= at (lmo_by_state.h), and leaves those of x_s >= at for later: other states have the less
 * of the ball there. */
nadir_status nadir_derivation_divide(nadir_context *context, nadir_derivation *self, int64_t s, double at);
/* What becomes of `least` ([2 states], occupancy_bounds.h) in either part. */
void nadir_derivation_part(const nadir_derivation *self, int64_t s, double at, bool above, double *least);
/* The next box; after the last one the bound of the tree. */
nadir_status nadir_derivation_next(nadir_context *context, nadir_derivation *self);

/* The steps of a record, [count] numbers, from the start. NADIR_ERROR_ARGUMENT where it is no record of a
 * derivation for this problem. */
nadir_status nadir_derivation_replay(nadir_context *context, nadir_derivation *self, int64_t count,
                                     const double *steps);

/*
 * The steps of a derivation as a list of numbers, which is what a witness has.
 *
 * A step is its code and its numbers; v and `answered` are vectors of [states] numbers.
 */

typedef enum nadir_step {
    NADIR_STEP_SET_PASSES = 1,        /* passes */
    NADIR_STEP_LAGRANGIAN = 2,        /* tau, v */
    NADIR_STEP_BY_NORMS = 3,          /* */
    NADIR_STEP_LARGE = 4,             /* */
    NADIR_STEP_EXPAND = 5,            /* */
    NADIR_STEP_TABULATE = 6,          /* coarse */
    NADIR_STEP_USE_WEIGHTS = 7,       /* */
    NADIR_STEP_BEGIN = 8,             /* level */
    NADIR_STEP_MEASURE = 9,           /* */
    NADIR_STEP_PASS = 10,             /* */
    NADIR_STEP_LAGRANGIAN_BELOW = 11, /* tau, v */
    NADIR_STEP_PASS_AROUND = 12,      /* tau, v, answered */
    NADIR_STEP_CONCLUDE = 13,         /* */
    NADIR_STEP_MATRIX = 14,           /* shared, reach */
    NADIR_STEP_CONCLUDE_KAPPA = 15,   /* kappa (0: none), theta, theta_unvisited */
    NADIR_STEP_POINT = 16,            /* v, d: of P*, which the steps after it take; any numbers do */
    NADIR_STEP_CONCLUDE_TANGENT = 17, /* k, theta, theta_unvisited, r of the radial term */
    NADIR_STEP_LEVEL = 18,            /* level */
    NADIR_STEP_NARROW = 19,           /* t, theta, zeta, tau, end (0 for theta = 0), k, v */
    NADIR_STEP_SPLIT = 20,            /* s, at */
    NADIR_STEP_NEXT = 21,             /* */
    NADIR_STEP_ENCLOSE = 22,          /* tau, v, d */
    NADIR_STEP_FORGET = 23,           /* */
    NADIR_STEP_BOX = 24,              /* low, high */
    NADIR_STEP_DIVIDE = 25            /* s, at */
} nadir_step;

#endif
