/* Prints the version of the nadir it was linked with; fails when the header is of another version. */
#include <nadir.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    char header[64];
    snprintf(header, sizeof header, "%d.%d.%d", NADIR_VERSION_MAJOR, NADIR_VERSION_MINOR,
             NADIR_VERSION_PATCH);
    puts(nadir_version());
    return strcmp(header, nadir_version()) != 0;
}
