/*
 * verify.h: what the parts of a verification share (verify*.c): the list of checks, the problem posed
 * anew, the kernel and the witness.
 */
#ifndef NADIR_PROOF_VERIFY_H
#define NADIR_PROOF_VERIFY_H

#include "proof/certificate.h"

enum { NADIR_VERIFY_CHECKS = 24, NADIR_VERIFY_DETAIL = 448 };

struct nadir_verification {
    nadir_memory *memory;
    int64_t count;
    int64_t failed;
    nadir_verify_check checks[NADIR_VERIFY_CHECKS]; /* each detail is one of these: */
    char details[NADIR_VERIFY_CHECKS][NADIR_VERIFY_DETAIL];
};

/* One verification under way. Claims and bounds have the signs of the problem. */
typedef struct nadir_verify_run {
    nadir_context *context;
    nadir_model *model;
    const nadir_policy *policy;
    const char *backend; /* NULL: the default */
    nadir_verification *list;
    nadir_kernel *kernel;
    nadir_kernel_parameters ball; /* what is said of the kernel; owned, as kernel and witness are */
    bool has_witness;
    nadir_witness witness;
    nadir_solver *solver;
    nadir_setup asked;
    nadir_value value;       /* under the kernel; v NULL: not solved for yet */
    double scale;            /* of values: what rounding is measured by */
    double low, high;        /* bounds on the return of the kernel; infinite: not known */
    double lower;            /* proven again of every kernel; -infinity: not */
    const char *certificate; /* of that */
    double kappa;            /* of the second-order proof, made anew; NaN: not */
    double *d_bar;           /* [states] owned: bounds of occupancies, made anew; NULL: not */
} nadir_verify_run;

/* A run without kernel and witness, which the caller sets; to be cleared in any case. */
nadir_status nadir_verify_start(nadir_context *context, nadir_model *model, const nadir_policy *policy,
                                const char *backend, nadir_verify_run *run);
/* All checks of the kernel and, if there is one, of the witness. */
nadir_status nadir_verify_prove(nadir_verify_run *run);
/* NADIR_ERROR_VERIFICATION, with the first check that failed, if any did; result and list are made in that
 * case too. */
nadir_status nadir_verify_conclude(nadir_verify_run *run, nadir_verify_result *result,
                                   nadir_verification **verification);
void nadir_verify_clear(nadir_verify_run *run);

/* Adds a check, named in a string that lives for ever. */
void nadir_verify_add(nadir_verify_run *run, const char *name, bool holds, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Value and occupancy under the kernel, once. */
nadir_status nadir_verify_solve(nadir_verify_run *run);

/* A lower bound on the return of every kernel of the set, proven from the numbers of the witness by the check
 * of the witness's kind: at least `enough`, which is `claimed` but for rounding, if that can be had. reason:
 * where there is none, why. */
nadir_status nadir_verify_lower(nadir_verify_run *run, double claimed, double enough, double *lower,
                                nadir_proof *proof, const char **reason);

#endif
