; Sandwiches are made in the kitchen, put on trays and served at tables; some children must not eat gluten.
(define (domain childsnack)
  (:requirements :strips :typing)
  (:types child bread content sandwich tray place)
  (:predicates (is-kitchen ?p - place) (bread-left ?b - bread) (content-left ?c - content) (made ?s - sandwich)
    (unmade ?s - sandwich) (no-gluten-bread ?b - bread) (no-gluten-content ?c - content) (no-gluten ?s - sandwich)
    (on-tray ?s - sandwich ?t - tray) (tray-at ?t - tray ?p - place) (allergic ?c - child) (not-allergic ?c - child)
    (waiting ?c - child ?p - place) (hungry ?c - child) (served ?c - child))
  (:action make-no-gluten
    :parameters (?s - sandwich ?b - bread ?c - content)
    :precondition (and (bread-left ?b) (content-left ?c) (no-gluten-bread ?b) (no-gluten-content ?c) (unmade ?s))
    :effect (and (not (bread-left ?b)) (not (content-left ?c)) (made ?s) (no-gluten ?s) (not (unmade ?s))))
  (:action make
    :parameters (?s - sandwich ?b - bread ?c - content)
    :precondition (and (bread-left ?b) (content-left ?c) (unmade ?s))
    :effect (and (not (bread-left ?b)) (not (content-left ?c)) (made ?s) (not (unmade ?s))))
  (:action put-on-tray
    :parameters (?s - sandwich ?t - tray ?p - place)
    :precondition (and (made ?s) (is-kitchen ?p) (tray-at ?t ?p))
    :effect (and (not (made ?s)) (on-tray ?s ?t)))
  (:action serve-no-gluten
    :parameters (?s - sandwich ?c - child ?t - tray ?p - place)
    :precondition (and (allergic ?c) (on-tray ?s ?t) (waiting ?c ?p) (hungry ?c) (no-gluten ?s) (tray-at ?t ?p))
    :effect (and (not (on-tray ?s ?t)) (not (hungry ?c)) (served ?c)))
  (:action serve
    :parameters (?s - sandwich ?c - child ?t - tray ?p - place)
    :precondition (and (not-allergic ?c) (waiting ?c ?p) (hungry ?c) (on-tray ?s ?t) (tray-at ?t ?p))
    :effect (and (not (on-tray ?s ?t)) (not (hungry ?c)) (served ?c)))
  (:action move-tray
    :parameters (?t - tray ?from ?to - place)
    :precondition (tray-at ?t ?from)
    :effect (and (not (tray-at ?t ?from)) (tray-at ?t ?to))))
