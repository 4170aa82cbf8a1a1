"""Seeds that need arrays: records.npy, and each ARCHIVE.npz as ARCHIVE.entries, the form of archive.h."""

import ast
import struct
import sys
import zipfile

# As in archive.h and npz.h.
TYPES = ["f8", "i8", "i4", "f4", "b1", "u1", "i2", "u8", "U4", "S6", "U64", "c16"]
ARRAYS = """P layout P_data P_indices P_indptr P_shape data indices indptr shape format states row_state row_action R mu
gamma scales radius norm set domain state_names action_names b k optimistic model_sha256 policy_sha256 model_file_sha256
policy_file_sha256""".split()


def entry(name, array):
    """An array with its header: as type, shape and items where a byte will do, else whole."""
    (length,) = struct.unpack("<H", array[8:10])
    header = ast.literal_eval(array[10 : 10 + length].decode())
    kind, shape = header["descr"][1:], header["shape"]
    items = array[10 + length :]
    which = ARRAYS.index(name) if name in ARRAYS else len(ARRAYS)
    if kind in TYPES and all(size < 256 for size in shape):
        return bytes([which, TYPES.index(kind), len(shape), *shape]) + struct.pack("<H", len(items)) + items
    return bytes([which, 128, 0]) + struct.pack("<H", len(array)) + array


def main():
    for path in sys.argv[1:]:
        with zipfile.ZipFile(path) as archive, open(path.replace(".npz", ".entries"), "wb") as out:
            for name in archive.namelist():
                out.write(entry(name.removesuffix(".npy"), archive.read(name)))
    header = "{'descr': [('idstatefrom', '<i4'), ('idaction', '|u1'), ('idstateto', '<i8'), ('reward', '>f8')], "
    header += "'fortran_order': False, 'shape': (3,), }"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open("records.npy", "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        for state, action, successor, reward in [(0, 0, 1, 0.5), (1, 1, 0, -1), (1, 0, 1, 2)]:
            out.write(struct.pack("<iBq", state, action, successor) + struct.pack(">d", reward))


main()
