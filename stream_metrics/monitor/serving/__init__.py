"""What is shown of a monitor, served: the page, JSON, events, Prometheus; and dashboards for those who have Grafana."""
