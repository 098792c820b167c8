# What CloudNativePG's builder of extension images wants to know of one.
metadata = {
  name                     = "uidgen"
  sql_name                 = "uidgen"
  image_name               = "uidgen"
  licenses                 = ["PostgreSQL"]
  # Not needed for ids, see docs/installing.md; with it a bad setting is told in the log when the server starts.
  shared_preload_libraries = ["uidgen"]
  postgresql_parameters    = {}
  # The paths of the image as they are by default: share for control files and scripts, lib for libraries.
  extension_control_path   = []
  dynamic_library_path     = []
  ld_library_path          = []
  bin_path                 = []
  env                      = {}
  # uidgen_libpq needs libpq, which every image of a server has.
  auto_update_os_libs      = false
  required_extensions      = []
  create_extension         = true

  versions = {
    trixie = {
      "18" = {
        package = "1.0.0-1"
        sql     = "1.0.0"
      }
    }
  }
}
