/* witness_members.h: the members of a witness file, by which witness_file_write.c writes and
 * witness_file_read.c reads. */
#ifndef NADIR_IO_WITNESS_MEMBERS_H
#define NADIR_IO_WITNESS_MEMBERS_H

#include "io/result_files.h"

#define NADIR_WITNESS_VERSION 1 /* of the format */

typedef enum nadir_member_kind {
    NADIR_MEMBER_VERSION,
    NADIR_MEMBER_DIGEST, /* char[65]; may be "", null in files, where it is not needed */
    NADIR_MEMBER_SET,
    NADIR_MEMBER_DOMAIN,
    NADIR_MEMBER_NORM,   /* double, 1 or more; "inf" */
    NADIR_MEMBER_RADIUS, /* a number, or an array of them */
    NADIR_MEMBER_FLAG,   /* bool */
    NADIR_MEMBER_NAME,   /* const char *, may be NULL */
    NADIR_MEMBER_NUMBER, /* double, may be NaN */
    NADIR_MEMBER_VECTOR, /* const double *, [states]; left out where it is NULL */
    NADIR_MEMBER_STEPS   /* the same, [steps_count] */
} nadir_member_kind;

typedef struct nadir_member {
    const char *name;
    nadir_member_kind kind;
    bool needed;
    size_t offset; /* in nadir_witness */
} nadir_member;

/* In the order of the file; name NULL ends the list. At most 64. */
extern const nadir_member nadir_witness_members[];

bool nadir_witness_is_digest(const char *text);
/* The first number that is not finite, or is negative where it may not be; `count` when there is none. */
int64_t nadir_witness_find_bad(int64_t count, const double *numbers, bool negative);

#endif
