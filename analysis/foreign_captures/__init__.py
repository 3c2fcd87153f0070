"""Flow tables and plots for captures that Airwire did not make."""
