; Rovers drive between waypoints, sample soil and rock, take images and send what they found.
(define (domain rovers)
  (:requirements :strips :typing)
  (:types rover waypoint store camera mode lander objective)
  (:predicates (at ?r - rover ?w - waypoint) (at-lander ?l - lander ?w - waypoint)
    (can-traverse ?r - rover ?x ?y - waypoint) (visible ?x ?y - waypoint)
    (equipped-for-soil ?r - rover) (equipped-for-rock ?r - rover) (equipped-for-imaging ?r - rover)
    (store-of ?s - store ?r - rover) (empty ?s - store) (full ?s - store)
    (soil-at ?w - waypoint) (rock-at ?w - waypoint) (have-soil ?r - rover ?w - waypoint) (have-rock ?r - rover ?w - waypoint)
    (camera-of ?c - camera ?r - rover) (supports ?c - camera ?m - mode) (calibration-target ?c - camera ?o - objective)
    (visible-from ?o - objective ?w - waypoint) (calibrated ?c - camera ?r - rover)
    (have-image ?r - rover ?o - objective ?m - mode)
    (sent-soil ?w - waypoint) (sent-rock ?w - waypoint) (sent-image ?o - objective ?m - mode))
  (:action navigate
    :parameters (?r - rover ?from ?to - waypoint)
    :precondition (and (can-traverse ?r ?from ?to) (at ?r ?from))
    :effect (and (not (at ?r ?from)) (at ?r ?to)))
  (:action sample-soil
    :parameters (?r - rover ?s - store ?w - waypoint)
    :precondition (and (at ?r ?w) (soil-at ?w) (equipped-for-soil ?r) (store-of ?s ?r) (empty ?s))
    :effect (and (not (empty ?s)) (full ?s) (have-soil ?r ?w) (not (soil-at ?w))))
  (:action sample-rock
    :parameters (?r - rover ?s - store ?w - waypoint)
    :precondition (and (at ?r ?w) (rock-at ?w) (equipped-for-rock ?r) (store-of ?s ?r) (empty ?s))
    :effect (and (not (empty ?s)) (full ?s) (have-rock ?r ?w) (not (rock-at ?w))))
  (:action drop
    :parameters (?r - rover ?s - store)
    :precondition (and (store-of ?s ?r) (full ?s))
    :effect (and (not (full ?s)) (empty ?s)))
  (:action calibrate
    :parameters (?r - rover ?c - camera ?o - objective ?w - waypoint)
    :precondition (and (camera-of ?c ?r) (calibration-target ?c ?o) (visible-from ?o ?w) (at ?r ?w))
    :effect (calibrated ?c ?r))
  (:action take-image
    :parameters (?r - rover ?w - waypoint ?o - objective ?c - camera ?m - mode)
    :precondition (and (calibrated ?c ?r) (camera-of ?c ?r) (equipped-for-imaging ?r) (supports ?c ?m)
      (visible-from ?o ?w) (at ?r ?w))
    :effect (and (have-image ?r ?o ?m) (not (calibrated ?c ?r))))
  (:action send-soil
    :parameters (?r - rover ?l - lander ?what ?here ?there - waypoint)
    :precondition (and (at ?r ?here) (at-lander ?l ?there) (have-soil ?r ?what) (visible ?here ?there))
    :effect (sent-soil ?what))
  (:action send-rock
    :parameters (?r - rover ?l - lander ?what ?here ?there - waypoint)
    :precondition (and (at ?r ?here) (at-lander ?l ?there) (have-rock ?r ?what) (visible ?here ?there))
    :effect (sent-rock ?what))
  (:action send-image
    :parameters (?r - rover ?l - lander ?o - objective ?m - mode ?here ?there - waypoint)
    :precondition (and (at ?r ?here) (at-lander ?l ?there) (have-image ?r ?o ?m) (visible ?here ?there))
    :effect (sent-image ?o ?m)))
