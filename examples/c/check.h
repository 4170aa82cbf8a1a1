/*
 * check.h: what the examples do when something fails: say why, and end.
 */
#ifndef CHECK_H
#define CHECK_H

#include <nadir.h>

#include <stdio.h>
#include <stdlib.h>

static inline void check(nadir_context *context, nadir_status status)
{
    if (status != NADIR_OK) {
        fprintf(stderr, "%s\n",
                context != NULL ? nadir_context_error(context) : nadir_status_sentence(status));
        exit((int)status / 10);
    }
}

#endif
