/*
 * witness.h: what is known of a worst kernel beside the kernel: the ball, and the numbers that let anyone
 * prove the bounds of a robust evaluation again without searching. Files of both: io/result_files.h.
 */
#ifndef NADIR_PROOF_WITNESS_H
#define NADIR_PROOF_WITNESS_H

#include "model/model.h"

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
    const double *steps; /* [steps_count] of the proof (proof/derivation_record.h) */
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
