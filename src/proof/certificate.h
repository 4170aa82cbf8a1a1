/*
 * certificate.h: the problem of one solver and one ball (setup), what passes from a search to the proofs
 * (candidate), what the proofs have shown (certificate), and what a file keeps of both so that anyone can prove
 * it again (witness).
 */
#ifndef NADIR_PROOF_CERTIFICATE_H
#define NADIR_PROOF_CERTIFICATE_H

#include "model/kernel.h"
#include "model/model.h"
#include "sets/uncertainty.h"
#include "solve/solver.h"

/* A struct of zeros holds nothing. The problem points into the struct: it must stay where it is. */
typedef struct nadir_setup {
    nadir_uncertainty uncertainty;
    nadir_problem problem;
    double *owned; /* R, and for the best case rewards and v negated */
} nadir_setup;

/* Solves for the nominal value if need be. The solver must outlive the question. */
nadir_status nadir_setup_make(nadir_context *context, nadir_solver *solver, const nadir_ball *ball,
                              bool optimistic, nadir_setup *asked);
void nadir_setup_clear(nadir_context *context, nadir_setup *asked);

/* A kernel of the set that a search has found, with numbers that proofs start from. It proves nothing. A
 * struct of zeros holds nothing. */
typedef struct nadir_candidate {
    nadir_kernel *kernel; /* owned: the worst found */
    double J;             /* its return, as the problem has signs */
    const char *method;   /* that found it */
    nadir_stop stop;
    bool converged;
    int64_t iterations;
    /* Kernels Phat - b k^T: b = c(s) times the shape of alpha pi within a state. */
    double *c;     /* [states] owned, |c|_p = beta; NULL: not of this kind */
    double *k;     /* [states] owned, zero-sum, |k|_p = 1 */
    double *g;     /* [states] owned: D W c up to a constant, a guess for iterations; NULL: not kept */
    double lambda; /* J_nominal - J, not by that difference: by Sherman-Morrison, or by what rows change */
    /* Kernels of domain simplex and support. */
    double *v;  /* [states] owned: value under the kernel; NULL: not of this kind */
    double *d;  /* [states] owned: occupancy under the kernel; NULL: not known */
    double tau; /* multiplier of the ball */
    double gap; /* stationarity gap: what a linear step would still promise */
} nadir_candidate;

void nadir_candidate_clear(nadir_context *context, nadir_candidate *candidate);

/* What the proofs of one kernel of the non-rectangular ball, simplex or support, have shown. */

/* How sure a bound is. Numerical: a number in it is a converged estimate, not a bound. */
typedef enum nadir_proof { NADIR_PROOF_NONE, NADIR_PROOF_NUMERICAL, NADIR_PROOF_RIGOROUS } nadir_proof;

/* Which proof gave a bound. */
typedef enum nadir_bound {
    NADIR_BOUND_NONE,
    NADIR_BOUND_NOMINAL,
    NADIR_BOUND_REWARDS,
    NADIR_BOUND_SPECTRAL,
    NADIR_BOUND_ENUMERATION,
    NADIR_BOUND_ENCLOSING_BALL,
    NADIR_BOUND_FREE_DOMAIN,
    NADIR_BOUND_BELLMAN,
    NADIR_BOUND_CONTRACTION,
    NADIR_BOUND_LAGRANGIAN,
    NADIR_BOUND_SHAPED, /* free_landing.h */
    NADIR_BOUND_SECOND_ORDER
} nadir_bound;

/* Its name in results and files, and back; NONE where there is no proof of this name, or the name is NULL. */
const char *nadir_bound_name(nadir_bound bound);
nadir_bound nadir_bound_find(const char *name);

typedef struct nadir_certificate {
    double lower;      /* J_U >= lower; -infinity: nothing proven */
    nadir_proof proof; /* rigorous, or numerical where kappa is an estimate by Lanczos */
    nadir_bound bound; /* second-order, lagrangian or none */
    double kappa;      /* at most 1/2 proves that P* is the worst; NaN: not computed */
    double tau;        /* of the Lagrangian bound */
    bool hopeless;     /* norms show kappa to be far above 1/2 */
    double *d_bar;     /* [states] owned: d_P <= d_bar for every kernel P of the set */
    double *v_tau;     /* [states] owned: v of the Lagrangian bound; NULL: none */
    double *point;     /* [2 states] owned: v and d of P* that its proofs take (kkt.h); NULL: none yet */
    double *steps;     /* [steps_count] owned: the derivation (derivation.h); NULL: none */
    int64_t steps_count;
    size_t steps_capacity;
} nadir_certificate;

/* Nothing proven; d_bar is allocated and not set. */
nadir_status nadir_certificate_make(nadir_context *context, int64_t states, nadir_certificate *certificate);
void nadir_certificate_clear(nadir_context *context, nadir_certificate *certificate);

/* Takes a proven lower bound if it is better than the one at hand. */
void nadir_certificate_offer(nadir_certificate *certificate, double lower, nadir_proof how,
                             nadir_bound bound);

/*
 * What is known of a worst kernel beside the kernel: the ball, and the numbers that let anyone
 * prove the bounds of a robust evaluation again without searching. Files of both: io/result_files.h.
 */

/* The most numbers that the steps of a proof have. A search stops at a fourth of them. */
#define NADIR_STEPS_MOST ((int64_t)1 << 24)

#define NADIR_WITNESS_NAME_LENGTH 64 /* bytes of a name, its end included */

/* Numbers that are not known are NaN; files have null for them, and for infinite ones. */
typedef struct nadir_witness {
    char model_sha256[65]; /* of the model and the policy that it is about */
    char policy_sha256[65];
    char model_file_sha256[65]; /* of the bytes of the files that they were read from; "": unsaid */
    char policy_file_sha256[65];
    char kernel_sha256[65]; /* of the bytes of the kernel file; "": unsaid */
    /* The ball. */
    nadir_set set;
    nadir_domain domain;
    double norm;
    const double *radius; /* [radius_count] */
    int64_t radius_count; /* 1, states or rows */
    bool optimistic;      /* the best case, not the worst */
    /* What was found. */
    double nominal_return, robust_return;
    double lower_bound, upper_bound;
    const char *certificate; /* NULL: unsaid */
    const char *bound;       /* the proof that gave the better bound */
    /* Proofs of the free domain. */
    double lambda; /* what the kernel costs */
    double breakdown_low;
    const char *breakdown_proof;
    const double *c, *k;   /* [states] each, p = 2; NULL: not of this kind, as all vectors here */
    const double *c2, *k2; /* [states] the pair of the enclosing L_2 ball */
    /* Proofs of the domains simplex and support. */
    double kappa, tau;
    const double *v;     /* [states] of rectangular sets: value under the kernel */
    const double *d_bar; /* [states] no kernel of the set visits a state more than this */
    const double *steps; /* [steps_count] of the proof (proof/derivation.h) */
    int64_t steps_count;
    /* Of a witness that was read from a file. */
    char sha256[65]; /* the digest that the file stores of its other bytes (core/file.h) */
    double *owned;
    char *owned_names;
} nadir_witness;

/* Nothing known. */
void nadir_witness_default(nadir_witness *witness);
void nadir_witness_clear(nadir_context *context, nadir_witness *witness);

/* What a kernel file says beside the kernel. A struct of zeros with norm and gamma NaN says nothing. */
typedef struct nadir_kernel_parameters {
    nadir_set set;
    nadir_domain domain;
    double norm;           /* NaN: unsaid */
    const double *radius;  /* [radius_count], or those of this process; NULL: unsaid */
    int64_t radius_count;  /* 0, 1, states or rows, of all processes */
    const double *scales;  /* [rows]; NULL: unsaid */
    double gamma;          /* NaN: unsaid */
    bool optimistic;       /* the best case, not the worst */
    char model_sha256[65]; /* "": unsaid */
    char policy_sha256[65];
    char model_file_sha256[65]; /* of the bytes of the files that they were read from; "": unsaid */
    char policy_file_sha256[65];
    double *owned; /* radius and scales, where they were read from a file */
} nadir_kernel_parameters;

void nadir_kernel_parameters_clear(nadir_context *context, nadir_kernel_parameters *parameters);

#endif
