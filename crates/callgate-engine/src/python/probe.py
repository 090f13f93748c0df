import importlib, json, os, sys

found = {"version": list(sys.version_info[:3]), "implementation": sys.implementation.name}
found["executable"] = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
missing = {}
if sys.version_info >= (3, 10):
    for name in sys.argv[1:]:
        try:
            importlib.import_module(name)
        except BaseException as error:
            missing[name] = "%s: %s" % (type(error).__name__, error)
    try:
        import ctypes

        ctypes.CDLL(None).prctl
    except BaseException as error:
        missing["ctypes"] = "%s: %s" % (type(error).__name__, error)
    import sysconfig

    found["library"] = sorted({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")})
    with open("/proc/self/maps") as maps:
        paths = {line.split(None, 5)[5].strip() for line in maps if "/" in line}
    found["mapped"] = sorted(path for path in paths if path.startswith("/"))
found["missing"] = missing
print(json.dumps(found))
