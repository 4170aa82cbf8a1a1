/*
 * witness.h: the numbers that let anyone prove the bounds of a robust evaluation again without searching, as
 * a JSON file. The kernel itself is in a file of its own (kernel/kernel_file.h).
 */
#ifndef NADIR_ADVERSARY_WITNESS_H
#define NADIR_ADVERSARY_WITNESS_H

#include "base/file_digest.h"
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
    /* Of nadir_witness_read. */
    char sha256[65]; /* the digest that the file stores of its other bytes (base/file_digest.h) */
    double *owned;
    char *owned_names;
} nadir_witness;

/* Nothing known. */
void nadir_witness_default(nadir_witness *witness);
void nadir_witness_clear(nadir_context *context, nadir_witness *witness);

/* How the file ends: the digest of all its other bytes. */
extern const nadir_file_digest_form nadir_witness_digest_form;

/* NADIR_ERROR_ARGUMENT when a vector is not finite or the ball or a digest is not one. */
nadir_status nadir_witness_write(nadir_context *context, const nadir_model *model,
                                 const nadir_witness *witness, const char *path);

/* Nothing in the file is believed: NADIR_ERROR_FORMAT names the member whose type, length or number is wrong.
 * Whether the digests are those of the model and the policy at hand is not looked at. Members that are not
 * known are ignored with a notice. witness need not be initialised, and is to be cleared after success. */
nadir_status nadir_witness_read(nadir_context *context, const nadir_model *model, const char *path,
                                nadir_witness *witness);

#endif
