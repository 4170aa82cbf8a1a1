/*
 * srect_update.h: the best mixture of the actions of one state against an adversary who has one budget for all.
 *
 * With q_a what action a is worth, and gain_a(r) what the adversary takes from it within radius r, concave,
 *
 *     max over pi of min over |r|_p <= beta of  sum_a pi_a (q_a - gamma gain_a(r_a))
 *         = the least level x to which every action can be brought:  |c(x)|_p <= beta,
 *
 * c_a(x) the radius that brings q_a down to x. There pi_a is in proportion to the derivative of c_a(x)^p:
 * c_a^(p-1) over the slope of the gain. Actions of q_a <= x have no part.
 */
#ifndef NADIR_POLICY_SRECT_UPDATE_H
#define NADIR_POLICY_SRECT_UPDATE_H

#include <stdint.h>

/* What the adversary takes from an action within a radius. */
typedef struct nadir_srect_response {
    double gain;  /* 0 or more */
    double slope; /* of the gain in the radius; 0: more radius brings nothing */
    double norm;  /* the radius that it takes: no more than was given */
} nadir_srect_response;

/* The last call for an action is made with the radius of the answer. */
typedef nadir_srect_response (*nadir_srect_oracle)(void *user, int64_t action, double radius);

enum { NADIR_SRECT_TANGENTS = 8 };

/* Where the search stands with an action. */
typedef struct nadir_srect_action {
    nadir_srect_response most; /* within beta */
    nadir_srect_response now;
    int tangents; /* of the gain, which is below all of them */
    double touch[NADIR_SRECT_TANGENTS];
    double start[NADIR_SRECT_TANGENTS];
    double slope[NADIR_SRECT_TANGENTS];
} nadir_srect_action;

typedef struct nadir_srect_update {
    int64_t count;   /* of actions */
    const double *q; /* [count] */
    double gamma;    /* 0 or more */
    double beta;     /* 0 or more */
    double p;        /* 1 to infinity */
    nadir_srect_oracle ask;
    void *user;
    nadir_srect_action *actions; /* [count] work space */
} nadir_srect_update;

/* The level; pi: [count]. At p = infinity every action has a budget of its own, and the best one is taken. */
double nadir_srect_update_solve(const nadir_srect_update *self, double *pi);

#endif
